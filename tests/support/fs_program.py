"""The filesystem service with servers of a test behind it: no byte leaves the machine."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, cast

import pf_fs.app
from pf_backends.entries import Entry, Kind, Page
from pf_backends.errors import Malformed
from pf_backends.opening import Surroundings
from pf_backends.port import Backend

ALLOWED = "203.0.113.0/24"
"""Addresses of nobody (RFC 5737), which the service is told to take for servers."""
ENDPOINT = "203.0.113.1:9000"


class Place:
    """Answers by the name of its bucket. Of `Backend` it has what the service asks for."""

    def __init__(self, bucket: str, secret: str) -> None:
        self._bucket = bucket
        self._secret = secret

    def check(self) -> None:
        match self._bucket:
            case "refusing":
                raise PermissionError(errno.EACCES, f"AccessDenied:\n{self._secret} is no key", self._bucket)
            case "odd":
                raise Malformed(f"{self._secret} is odd")

    def close(self) -> None:
        """Nothing is open."""

    def stat(self, path: str) -> Entry:
        if path == "file":
            return Entry(path, Kind.FILE)
        if path in ("full", "empty"):
            return Entry(path, Kind.FOLDER)
        raise FileNotFoundError(errno.ENOENT, "NoSuchKey", path)

    def list(self, folder: str, *, rest: str = "", limit: int = 1000) -> Page:
        return Page([Entry("full/thing", Kind.FILE)] if folder == "full" else [])


def open_place(url: str, properties: Mapping[str, str], _surroundings: Surroundings) -> Backend:
    bucket = url.partition("://")[2].partition("/")[0]
    return cast("Backend", Place(bucket, properties.get("secretKey", "")))


PROGRAM: Any = replace(pf_fs.app.PROGRAM, main=partial(pf_fs.app.main, open_backend=open_place))
