"""Asks the API server, without the half second that starting kubectl takes."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Thing = dict[str, Any]
"""An object of the API, or a list of them."""


class NotFound(Exception):
    """There is nothing at this path."""


class Unix(http.client.HTTPConnection):
    """HTTP over a Unix socket, which is reached from all network namespaces."""

    def __init__(self, door: Path, patience: float) -> None:
        super().__init__("localhost", timeout=patience)
        self._door = door

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._door))


@dataclass(frozen=True, slots=True)
class Api:
    """The API as its administrator sees it; paths are those of the API: `/api/v1/nodes/node-1`."""

    door: Path
    patience: float = 120.0

    def text(self, path: str) -> str:
        with self._asked("GET", path) as answer:
            return answer.read().decode()

    def get(self, path: str) -> Thing:
        thing: Thing = json.loads(self.text(path))
        return thing

    def items(self, path: str) -> list[Thing]:
        things: list[Thing] = self.get(path)["items"]
        return things

    def find(self, path: str) -> Thing | None:
        try:
            return self.get(path)
        except NotFound:
            return None

    def watch(self, path: str) -> Iterator[tuple[str, Thing]]:
        """What happens from now on, or from `resourceVersion` in the path: ADDED, MODIFIED or DELETED, and to what."""
        joint = "&" if "?" in path else "?"
        with self._asked("GET", f"{path}{joint}watch=true") as answer:
            for line in answer:
                happening = json.loads(line)
                yield happening["type"], happening["object"]

    def answers(self) -> bool:
        try:
            return self.text("/readyz") == "ok"
        except (OSError, http.client.HTTPException, ApiRefused):
            return False

    @contextmanager
    def _asked(self, method: str, path: str) -> Iterator[http.client.HTTPResponse]:
        with closing(Unix(self.door, self.patience)) as connection:
            connection.request(method, path)
            answer = connection.getresponse()
            if answer.status == http.client.NOT_FOUND:
                raise NotFound(path)
            if answer.status >= http.client.BAD_REQUEST:
                raise ApiRefused(f"{method} {path}: {answer.status} {answer.read().decode(errors='replace')}")
            yield answer


class ApiRefused(Exception):
    """The API server did not do what it was asked."""
