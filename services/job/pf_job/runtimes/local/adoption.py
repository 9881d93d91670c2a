"""What a runner finds when it starts: replicas of one before it, which may still run."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pf_job.runtimes.local import files, groups, layout, records
from pf_job.runtimes.local.processes import stat_of
from pf_job.runtimes.local.records import Book, Ending, Process, Record

PATIENCE = 10.0
"""Seconds in which an init that was just forked has to say which process it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A replica, as it was found."""

    name: str
    record: Record
    process: Process | None = None
    handle: int | None = None
    """On its init; None if that is gone."""
    ending: Ending | None = None
    deadline: float | None = None
    """When it has to have ended, if it was to be stopped."""


def look(data: str, boot: str, remove: Callable[[str], None], forget: Callable[[str], None]) -> Iterator[Found]:
    """All replicas that are not forgotten.

    What was never started is removed, and what was about to be forgotten is forgotten. `boot` is the life of the
    machine: what was written shortly before the end of another may be lost.
    """
    for path in _folders(f"{data}/{layout.REPLICAS}"):
        folder = files.open_folder(path)
        try:
            book = _read(folder)
            if book.record is not None and not book.forgotten:
                found = _found(layout.name_of(os.path.basename(path)), book.record, folder)
                if not _is_unbegun(found, boot):
                    yield found
                    continue
                groups.remove(book.record.groups)
        finally:
            os.close(folder)
        if book.forgotten:
            forget(path)
        else:
            remove(path)


def _folders(root: str) -> list[str]:
    return [entry.path for entry in os.scandir(root) if entry.is_dir(follow_symlinks=False)]


def _found(name: str, record: Record, folder: int) -> Found:
    handle = None
    if record.refusal is None and _read(folder).ending is None:
        handle = _init_of(folder)
    # It may have ended meanwhile.
    book = _read(folder)
    return Found(
        name=name,
        record=record,
        process=book.process,
        handle=handle,
        ending=book.ending,
        deadline=None if book.stop is None else book.stop.deadline,
    )


def _is_unbegun(found: Found, boot: str) -> bool:
    """Whether no program was started for it: an init says which process it is before it starts one."""
    record = found.record
    return record.refusal is None and found.process is None and found.ending is None and record.boot == boot


def _init_of(folder: int) -> int | None:
    """A handle on the init that holds the lock of a folder; None if nobody does."""
    deadline = time.monotonic() + PATIENCE
    while not _is_free(folder):
        process = _read(folder).process
        if process is not None:
            return _handle(process)
        if time.monotonic() > deadline:
            raise TimeoutError("a process holds the folder of a replica and does not say who it is")
        time.sleep(0.001)
    return None


def _handle(process: Process) -> int | None:
    try:
        handle = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return None
    # Asked after opening: from here on the handle means this very process, whatever becomes of its number.
    found = stat_of(process.pid)
    if found is not None and found.ticks == process.ticks:
        return handle
    os.close(handle)
    return None


def _is_free(folder: int) -> bool:
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _read(folder: int) -> Book:
    return records.read(files.get(folder, layout.RECORD) or b"")
