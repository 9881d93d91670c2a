"""Finds all that there is in a backend, many folders at a time."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from queue import SimpleQueue

from pf_backends.entries import ROOT, Entry, Kind
from pf_backends.paths import encoded
from pf_backends.port import Backend

_PAGE = 1000
_AHEAD = 64
"""Folders that were listed and that nobody has looked at yet."""


def found(backend: Backend, at_once: int) -> Iterator[Sequence[Entry]]:
    """The top, and then all that is in each folder, in the order of their names. Whoever closes it ends it."""
    top = backend.stat(ROOT)
    yield [top]
    room = threading.Semaphore(_AHEAD)
    listed = SimpleQueue[Future[Sequence[Entry]]]()
    with ThreadPoolExecutor(at_once, "list") as threads:

        def ask(folder: str) -> None:
            threads.submit(_all_in, backend, folder, room).add_done_callback(listed.put)

        try:
            ask(ROOT)
            left = 1
            while left:
                entries = listed.get().result()
                room.release()
                folders = [entry.path for entry in entries if entry.kind is Kind.FOLDER]
                left += len(folders) - 1
                for folder in folders:
                    ask(folder)
                yield entries
        finally:
            threads.shutdown(wait=False, cancel_futures=True)
            for _ in range(at_once):
                room.release()


def _all_in(backend: Backend, folder: str, room: threading.Semaphore) -> Sequence[Entry]:
    """All that is in a folder; nothing if it has gone meanwhile."""
    room.acquire()
    entries: list[Entry] = []
    rest = ""
    with suppress(FileNotFoundError, NotADirectoryError):
        while True:
            page = backend.list(folder, rest=rest, limit=_PAGE)
            entries += page.entries
            rest = page.rest
            if not rest:
                break
    return sorted(entries, key=lambda entry: encoded(entry.name))
