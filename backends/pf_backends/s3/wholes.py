"""Whole objects, for one thread that asks for many at once over connections that it keeps itself."""

from __future__ import annotations

import socket
from collections.abc import Mapping

from pf_backends.entries import Entry
from pf_backends.s3.calls import Ask, Caller
from pf_backends.s3.keys import Keys
from pf_backends.s3.reading import CHECKED, entry_of, is_whole
from pf_backends.wire.pool import Pool


class Wholes:
    """Fulfils `pf_backends.port.Wholes`."""

    def __init__(self, caller: Caller, keys: Keys, pool: Pool) -> None:
        self._caller = caller
        self._keys = keys
        self._pool = pool

    def dialled(self) -> socket.socket:
        return self._pool.dialled()

    def request(self, path: str) -> bytes:
        return self._caller.request(Ask("GET", path, self._keys.of(path), headers=CHECKED))

    def entry(self, path: str, headers: Mapping[str, str], body: memoryview) -> Entry | None:
        return entry_of(path, headers, len(body)) if is_whole(headers, body) else None
