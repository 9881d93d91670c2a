"""Signs requests as version 4 of the signatures of AWS has it."""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from urllib.parse import quote

from pf_backends.s3.settings import Keys

EMPTY = hashlib.sha256(b"").hexdigest()
UNSIGNED = "UNSIGNED-PAYLOAD"

Query = Sequence[tuple[str, str]]


class Call(NamedTuple):
    """What is signed of a request."""

    method: str
    host: str
    path: str
    """As it is sent, with its special characters encoded."""
    query: str
    """As `query_text` makes it."""
    payload: str
    """The digest of the body, or that it is not signed."""
    headers: Mapping[str, str]
    """By names in small letters, only ``x-amz-…``: no others need to be signed."""


class Signer:
    """Signs for one region. For many threads: what it remembers is replaced as a whole."""

    def __init__(self, region: str) -> None:
        self._region = region
        self._remembered: tuple[str, Keys, bytes] | None = None

    def lines(self, call: Call, keys: Keys | None, now: float) -> str:
        """The lines that a request needs beside its own, at this time in seconds since 1970."""
        headers = {"host": call.host, **call.headers}
        if keys is None:
            return _lines(headers)
        moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now))
        headers["x-amz-content-sha256"] = call.payload
        headers["x-amz-date"] = moment
        if keys.token:
            headers["x-amz-security-token"] = keys.token
        return f"{_lines(headers)}authorization: {self._authorization(call, headers, keys, moment)}\r\n"

    def _authorization(self, call: Call, headers: Mapping[str, str], keys: Keys, moment: str) -> str:
        names = sorted(headers)
        signed = ";".join(names)
        canonical = "".join([f"{name}:{headers[name]}\n" for name in names])
        text = f"{call.method}\n{call.path}\n{call.query}\n{canonical}\n{signed}\n{call.payload}"
        scope = f"{moment[:8]}/{self._region}/s3/aws4_request"
        digest = hashlib.sha256(text.encode()).hexdigest()
        words = f"AWS4-HMAC-SHA256\n{moment}\n{scope}\n{digest}"
        signature = hmac.digest(self._key(keys, moment[:8]), words.encode(), "sha256").hex()
        return f"AWS4-HMAC-SHA256 Credential={keys.access}/{scope}, SignedHeaders={signed}, Signature={signature}"

    def _key(self, keys: Keys, day: str) -> bytes:
        """The key of a day, which is worked out once."""
        if self._remembered is not None and self._remembered[0] == day and self._remembered[1] is keys:
            return self._remembered[2]
        key = f"AWS4{keys.secret}".encode()
        for part in (day, self._region, "s3", "aws4_request"):
            key = hmac.digest(key, part.encode(), "sha256")
        self._remembered = (day, keys, key)
        return key


def path_text(path: str) -> str:
    """The path of an address, encoded as it is signed."""
    return quote(path, safe="/~")


def query_text(query: Query) -> str:
    return "&".join(sorted(f"{quote(name, safe='~')}={quote(value, safe='~')}" for name, value in query))


def _lines(headers: Mapping[str, str]) -> str:
    return "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
