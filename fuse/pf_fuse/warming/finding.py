"""All files at and below some paths of a backend."""

from __future__ import annotations

from collections.abc import Iterator

from pf_backends.entries import Entry, Kind
from pf_backends.port import Backend
from pf_backends.walking import pages_below


def files_at(backend: Backend, path: str) -> Iterator[Entry]:
    """A file, or all files below a folder. OSError if there is nothing, or if it cannot be listed any further."""
    entry = backend.stat(path)
    if entry.kind is Kind.FILE:
        yield entry
    if entry.kind is not Kind.FOLDER:
        return
    for entries in pages_below(backend, path):
        yield from (each for each in entries if each.kind is Kind.FILE)
