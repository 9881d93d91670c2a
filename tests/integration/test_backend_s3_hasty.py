"""Objects that are written without asking the store when that was."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pf_backends.entries import Condition
from pf_backends.errors import Changed
from pf_backends.port import Hasty
from pf_backends.s3.backend import S3Backend
from support.s3_servers import S3Server
from support.scripted_store import Asked, Told, scripted

SECOND = 1_000_000_000


def test_what_is_written_hastily_is_what_lies_there_but_for_the_time(s3_server: S3Server) -> None:
    backend = S3Backend(s3_server.settings)
    try:
        assert isinstance(backend, Hasty)
        first = backend.put_hastily("hasty", b"one", condition=Condition(absent=True))
        second = backend.put_hastily("hasty", memoryview(b"two!"), condition=Condition(version=first.version))
        found = backend.stat("hasty")
        assert replace(second, modified=found.modified) == found
        assert abs(second.modified - found.modified) <= 2 * SECOND
        with pytest.raises(Changed):
            backend.put_hastily("hasty", b"three", condition=Condition(version=first.version))
        backend.remove("hasty")
    finally:
        backend.close()


def test_the_store_is_called_once() -> None:
    asked: list[str] = []

    def script(call: Asked) -> Told:
        asked.append(call.method)
        return Told(headers={"etag": '"v"', "date": "Wed, 21 Oct 2015 07:28:00 GMT"})

    with scripted(script) as backend:
        written = backend.put_hastily("a", b"some")
    assert asked == ["PUT"]
    assert (written.size, written.version) == (4, "v")
    assert written.modified
