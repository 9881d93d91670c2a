"""Files that arrive in parts: each part goes to its place in a hidden file beside the one that is to be.

Of each upload a small file tells in a hidden folder at the top, so that those which were left can be found. Parts are
of one size: where a part belongs follows from its number.
"""

from __future__ import annotations

import errno
import json
import os
import re
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from pf_backends.entries import Condition, Entry, Facts, Part, Parts, Upload
from pf_backends.errors import failure
from pf_backends.hidden import OWN
from pf_backends.local.beneath import Top, require_file, told
from pf_backends.local.looking import opened_entry
from pf_backends.local.writing import NEW_FILE, Draft, keep, locked, write_all
from pf_backends.paths import is_path, parent

PARTS = Parts(least=8 << 20, most=8 << 20, count=1 << 20)
RECORDS = f"{OWN}uploads"
_ID = re.compile(r"([0-9a-f]{32})-([0-9a-f]+)")
_MOST_RECORD = 1 << 16
"""Bytes; others may write here too."""


class Uploads:
    """The uploads beneath a folder."""

    def __init__(self, top: Top, clock: Callable[[], int], patience: float) -> None:
        self._top = top
        self._clock = clock
        self._patience = patience

    def begin(self, path: str, facts: Facts) -> Upload:
        token, begun = secrets.token_hex(16), self._clock()
        with self._top.around(path) as (folder, _):
            flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
            handle = os.open(OWN + token, flags, NEW_FILE, dir_fd=folder)
            try:
                keep(handle, replace(facts, modified=None))
                inode = os.fstat(handle).st_ino
            finally:
                os.close(handle)
        self._note(token, {"path": path, "begun": begun, "inode": inode, "modified": facts.modified})
        return Upload(path, f"{token}-{inode:x}", begun)

    def send(self, upload: Upload, number: int, body: memoryview | bytes) -> Part:
        size = memoryview(body).nbytes
        if not 1 <= number <= PARTS.count or size > PARTS.most:
            raise failure(errno.EINVAL, upload.path, f"part {number} of {size} bytes is none of an upload")
        handle = self._opened(upload, os.O_WRONLY)
        try:
            with told(upload.path):
                write_all(handle, body, (number - 1) * PARTS.most)
        finally:
            os.close(handle)
        return Part(number, size, "")

    def finish(self, upload: Upload, parts: Sequence[Part], condition: Condition) -> Entry:
        size = whole_size(upload.path, parts)
        try:
            handle = self._opened(upload, os.O_WRONLY)
        except FileNotFoundError:
            return self._finished_before(upload, size)
        token, _ = _id(upload)
        with self._top.around(upload.path) as (folder, name):
            draft = Draft(folder, handle, OWN + token)
            try:
                self._complete(draft.handle, size, token)
                with locked(folder, upload.path, self._patience):
                    draft.place(name, upload.path, condition)
                    entry = opened_entry(upload.path, handle)
            finally:
                os.close(handle)
        self._forget(token)
        return entry

    def drop(self, upload: Upload) -> None:
        token, _ = _id(upload)
        with suppress(FileNotFoundError, NotADirectoryError), self._top.around(upload.path) as (folder, _):
            os.unlink(OWN + token, dir_fd=folder)
        self._forget(token)

    def left(self, folder: str) -> Sequence[Upload]:
        """Those below a folder that were neither finished nor dropped, the oldest first."""
        try:
            records = self._records(os.O_RDONLY)
        except FileNotFoundError:
            return []
        try:
            inside = f"{folder}/" if folder else ""
            found = [upload for upload in _noted(records) if upload.path.startswith(inside)]
        finally:
            os.close(records)
        return sorted(found, key=lambda upload: (upload.begun, upload.id))

    def _opened(self, upload: Upload, flags: int) -> int:
        token, inode = _id(upload)
        handle = self._top.open_own(parent(upload.path), OWN + token, flags)
        found = os.fstat(handle)
        if found.st_ino != inode:
            os.close(handle)
            raise failure(errno.ENOENT, upload.path, "the upload is there no more")
        require_file(upload.path, found)
        return handle

    def _complete(self, handle: int, size: int, token: str) -> None:
        os.ftruncate(handle, size)
        modified = self._note_of(token).get("modified")
        keep(handle, Facts(modified=modified if isinstance(modified, int) else self._clock()))
        os.fsync(handle)

    def _finished_before(self, upload: Upload, size: int) -> Entry:
        _, inode = _id(upload)
        with self._top.opened(upload.path, os.O_PATH) as handle:
            found = os.fstat(handle)
            if (found.st_ino, found.st_size) != (inode, size):
                raise failure(errno.ENOENT, upload.path, "the upload is there no more, and the file is another one")
            entry = opened_entry(upload.path, handle)
        self._forget(_id(upload)[0])
        return entry

    def _records(self, flags: int) -> int:
        return self._top.open_own("", RECORDS, flags | os.O_DIRECTORY)

    def _note(self, token: str, record: dict[str, object]) -> None:
        with suppress(FileExistsError):
            os.mkdir(RECORDS, 0o700, dir_fd=self._top.handle)
        records = self._records(os.O_PATH)
        try:
            flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
            handle = os.open(token, flags, 0o600, dir_fd=records)
            try:
                write_all(handle, json.dumps(record).encode())
            finally:
                os.close(handle)
        finally:
            os.close(records)

    def _note_of(self, token: str) -> dict[str, object]:
        try:
            records = self._records(os.O_PATH)
        except FileNotFoundError:
            return {}
        try:
            return _read_note(records, token)
        finally:
            os.close(records)

    def _forget(self, token: str) -> None:
        with suppress(FileNotFoundError):
            records = self._records(os.O_PATH)
            try:
                os.unlink(token, dir_fd=records)
            finally:
                os.close(records)


def whole_size(path: str, parts: Sequence[Part]) -> int:
    """Bytes of a file of these parts; EINVAL if one is missing or is not of the size that all have."""
    ordered = sorted(parts, key=lambda part: part.number)
    if [part.number for part in ordered] != list(range(1, len(ordered) + 1)):
        raise failure(errno.EINVAL, path, "parts are missing")
    if any(part.size != PARTS.least for part in ordered[:-1]):
        raise failure(errno.EINVAL, path, f"all parts but the last have {PARTS.least} bytes")
    return sum(part.size for part in ordered)


def _id(upload: Upload) -> tuple[str, int]:
    matched = _ID.fullmatch(upload.id)
    if matched is None:
        raise failure(errno.EINVAL, upload.path, "that is no upload to a folder")
    return matched[1], int(matched[2], 16)


def _noted(records: int) -> Iterator[Upload]:
    for token in os.listdir(records):
        note = _read_note(records, token)
        match note:
            case {"path": str(path), "begun": int(begun), "inode": int(inode)} if is_path(path):
                yield Upload(path, f"{token}-{inode:x}", begun)


def _read_note(records: int, token: str) -> dict[str, object]:
    """What was noted of an upload; nothing if it was not noted to the end."""
    try:
        handle = os.open(token, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=records)
    except OSError:
        return {}
    try:
        note = json.loads(os.pread(handle, _MOST_RECORD, 0))
    except (OSError, ValueError):
        return {}
    finally:
        os.close(handle)
    return note if isinstance(note, dict) else {}
