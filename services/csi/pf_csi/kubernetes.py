"""The API of Kubernetes, as a pod reaches it with its account: the only module that speaks with it.

It has the few calls that the driver needs, and none of the library's 20 MB. All of it blocks.
"""

from __future__ import annotations

import http.client
import json
import os
import ssl
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_PATIENCE = 20.0
_WATCHED = 240
"""Seconds after which the server ends a watch, which is then begun anew."""
_JSON, _MERGE = "application/json", "application/merge-patch+json"

Thing = Mapping[str, Any]
"""An object of the API, or a list of them."""


class ApiFailed(OSError):
    """The API does not answer, or refuses."""

    def __init__(self, text: str, status: int = 0) -> None:
        super().__init__(text)
        self.text = text
        self.status = status
        """Of HTTP; 0: it does not answer."""

    @property
    def absent(self) -> bool:
        return self.status == http.client.NOT_FOUND

    @property
    def conflict(self) -> bool:
        """It is there already, or has changed meanwhile."""
        return self.status == http.client.CONFLICT

    @property
    def outdated(self) -> bool:
        """What was asked for is forgotten: a watch has to begin with a list."""
        return self.status == http.client.GONE


@dataclass(frozen=True, slots=True)
class Kind:
    """What a kind of objects is called in paths."""

    group: str
    """With its version; `v1` is the core."""
    plural: str
    namespace: str = ""

    def path(self, name: str = "", part: str = "") -> str:
        root = "/api/v1" if self.group == "v1" else f"/apis/{self.group}"
        within = f"/namespaces/{quote(self.namespace)}" if self.namespace else ""
        below = "".join(f"/{quote(each)}" for each in (name, part) if each)
        return f"{root}{within}/{self.plural}{below}"


@dataclass(frozen=True, slots=True)
class Address:
    """Where the API is, and what shows who asks."""

    host: str
    port: int
    account: Path = ACCOUNT

    @classmethod
    def of_pod(cls, environ: Mapping[str, str] = os.environ) -> Address:
        """As the kubelet tells each pod; ApiFailed outside of one."""
        try:
            return cls(environ["KUBERNETES_SERVICE_HOST"], int(environ["KUBERNETES_SERVICE_PORT"]))
        except KeyError:
            raise ApiFailed("this is no pod of Kubernetes: KUBERNETES_SERVICE_HOST is not set") from None


class Api:
    """The calls, with a connection for each."""

    def __init__(self, address: Address) -> None:
        self._address = address

    def list(self, kind: Kind, **chosen: str) -> tuple[list[Thing], str]:
        """All objects, and the version to watch from."""
        found = self._json("GET", _asking(kind.path(), chosen))
        return list(found["items"]), str(found["metadata"]["resourceVersion"])

    def find(self, kind: Kind, name: str) -> Thing | None:
        try:
            return self._json("GET", kind.path(name))
        except ApiFailed as failed:
            if failed.absent:
                return None
            raise

    def create(self, kind: Kind, thing: Thing) -> Thing:
        return self._json("POST", kind.path(), thing)

    def replace(self, kind: Kind, name: str, thing: Thing) -> Thing:
        """It fails with a conflict if it has changed since it was read."""
        return self._json("PUT", kind.path(name), thing)

    def change(self, kind: Kind, name: str, part: str, fields: Thing) -> Thing:
        """Fields of a part of an object, as `status`."""
        return self._json("PATCH", kind.path(name, part), fields, _MERGE)

    def delete(self, kind: Kind, name: str, uid: str = "") -> None:
        """Nothing if it is gone; a conflict if another has its name by now."""
        try:
            self._json("DELETE", kind.path(name), {"preconditions": {"uid": uid}} if uid else None)
        except ApiFailed as failed:
            if not failed.absent:
                raise

    def watch(self, kind: Kind, version: str, **chosen: str) -> Iterator[tuple[str, Thing]]:
        """What happens from this version on; it ends by itself after some minutes."""
        more = {"watch": "true", "resourceVersion": version, "timeoutSeconds": str(_WATCHED)}
        with self._asked("GET", _asking(kind.path(), chosen | more), patience=_WATCHED + _PATIENCE) as answer:
            for line in answer:
                happened = json.loads(line)
                if happened["type"] == "ERROR":
                    raise ApiFailed(str(happened["object"].get("message")), int(happened["object"].get("code", 0)))
                yield happened["type"], happened["object"]

    def _json(self, method: str, path: str, thing: Thing | None = None, form: str = _JSON) -> Thing:
        with self._asked(method, path, thing, form) as answer:
            found: Thing = json.loads(answer.read())
            return found

    @contextmanager
    def _asked(
        self, method: str, path: str, thing: Thing | None = None, form: str = _JSON, patience: float = _PATIENCE
    ) -> Iterator[http.client.HTTPResponse]:
        try:
            with closing(self._connection(patience)) as connection:
                # It is replaced from time to time.
                bearer = {"Authorization": f"Bearer {(self._address.account / 'token').read_text().strip()}"}
                body = None if thing is None else json.dumps(thing)
                connection.request(method, path, body, {"Content-Type": form, **bearer})
                yield _accepted(connection.getresponse())
        except (http.client.HTTPException, ValueError) as error:
            raise ApiFailed(f"the API is not understood: {type(error).__name__}") from error
        except ApiFailed:
            raise
        except OSError as error:
            raise ApiFailed(f"the API does not answer: {error.strerror or error}") from error

    def _connection(self, patience: float) -> http.client.HTTPSConnection:
        trust = ssl.create_default_context(cafile=str(self._address.account / "ca.crt"))
        return http.client.HTTPSConnection(self._address.host, self._address.port, timeout=patience, context=trust)


def _asking(path: str, fields: Mapping[str, str]) -> str:
    return f"{path}?{urlencode(fields)}" if fields else path


def _accepted(answer: http.client.HTTPResponse) -> http.client.HTTPResponse:
    if answer.status >= http.client.BAD_REQUEST:
        raise ApiFailed(_message(answer.read()), answer.status)
    return answer


def _message(body: bytes) -> str:
    try:
        return str(json.loads(body)["message"])
    except (ValueError, KeyError, TypeError):
        return body[:200].decode(errors="replace")
