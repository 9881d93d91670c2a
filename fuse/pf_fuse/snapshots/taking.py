"""Takes a snapshot for somebody who follows it."""

from __future__ import annotations

import secrets
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pf_backends.entries import Condition, Entry, Facts, Kind, Upload
from pf_backends.port import Backend
from pf_fuse.snapshots.finding import found
from pf_fuse.snapshots.manifest import write
from pf_fuse.staging.notes import Notes
from pf_fuse.staging.uploading import Uploader

INSIDE = ":"
"""How a place begins that is in the backend itself."""
_EVERY = 0.2
"""Seconds between two reports."""
_SENDERS = 4


@dataclass(slots=True)
class Counts:
    """What was found so far."""

    files: int = 0
    folders: int = 0
    bytes: int = 0
    told: float = field(default=0.0)
    """When it was told last, by the monotonic clock."""

    def add(self, entries: Sequence[Entry]) -> None:
        folders = sum(entry.kind is Kind.FOLDER for entry in entries)
        self.folders += folders
        self.files += len(entries) - folders
        self.bytes += sum(entry.size for entry in entries)

    def report(self, *, over: bool) -> Mapping[str, Any]:
        self.told = time.monotonic()
        return {"over": over, "files": self.files, "folders": self.folders, "bytes": self.bytes}


def take(backend: Backend, to: str, at_once: int) -> Iterator[Mapping[str, Any]]:
    """Reports until it is over; the last one is marked, and the snapshot is at its place then."""
    counts = Counts()
    inside = to.removeprefix(INSIDE) if to.startswith(INSIDE) else ""
    with tempfile.TemporaryDirectory(dir=None if inside else Path(to).parent, prefix=".pf~") as folder:
        draft = Path(folder) / "snapshot"
        with closing(_without(found(backend, at_once), inside)) as groups:
            for entries in write(draft, groups, backend.address):
                counts.add(entries)
                if time.monotonic() - counts.told > _EVERY:
                    yield counts.report(over=False)
        if inside:
            _upload(backend, inside, draft)
        else:
            draft.replace(to)
    yield counts.report(over=True)


def _without(groups: Iterator[Sequence[Entry]], path: str) -> Generator[Sequence[Entry], None, None]:
    """The snapshot itself is not in it: it is another one when it is written."""
    for entries in groups:
        yield [entry for entry in entries if not path or entry.path != path]


def _upload(backend: Backend, path: str, draft: Path) -> None:
    new_name: Callable[[], str] = lambda: secrets.token_hex(8)  # noqa: E731
    with ThreadPoolExecutor(_SENDERS) as senders, draft.open("rb") as file:
        uploader = Uploader(backend, Notes(draft.parent / "uploads", Upload, new_name), senders)
        uploader.send(path, file.fileno(), draft.stat().st_size, Facts(), Condition())
