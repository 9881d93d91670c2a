"""Sends and fetches one file, in pieces of which several are on their way at once."""

from __future__ import annotations

import hashlib
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from paddleflow.models.files import FileInfo, FilePart
from paddleflow.problems import FileChanged, FileNotFound, FileUnusable
from paddleflow.sync.files import MOST_BYTES, Files
from paddleflow.transfers.notes import Notes
from paddleflow.transfers.places import Remote, RemoteSource, Source

A = TypeVar("A")
B = TypeVar("B")
Progress = Callable[[int], None]
"""Is told of bytes that have arrived."""

WORKERS = 4
"""Pieces of one file on their way at once."""


def send(files: Files, source: Source, target: Remote, notes: Notes, told: Progress, *, replace: bool = True) -> None:
    """Writes a file of a filesystem: at once if it is small, else in parts, of which none is sent twice."""
    if source.size <= MOST_BYTES:
        body = source.read(0, MOST_BYTES)
        files.write(target.name, target.path, body, owner=target.owner, replace=replace)
        told(len(body))
        return
    try:
        _send_parts(files, source, target, notes, told, replace=replace)
    except (FileNotFound, FileUnusable):
        if not notes.resumed:
            raise
        # The place has forgotten what was sent before: from the beginning.
        notes.forget()
        _send_parts(files, source, target, notes, told, replace=replace)


def fetch(files: Files, source: Remote, info: FileInfo, target: Path, told: Progress) -> None:
    """Writes a file of this machine, which appears when it is whole; goes on where it broke off before."""
    reader = RemoteSource(files, source, info)
    digest = hashlib.sha256(reader.mark.encode()).hexdigest()[:12]
    partial = target.with_name(f".{target.name[:200]}.{digest}.part")
    with partial.open("ab") as file:
        have = min(file.tell(), info.size) // MOST_BYTES * MOST_BYTES
        file.truncate(have)
        told(have)
        pieces = _several(range(have, info.size, MOST_BYTES), lambda offset: reader.read(offset, MOST_BYTES))
        for piece in pieces:
            file.write(piece)
            told(len(piece))
        file.flush()
        os.fsync(file.fileno())
    if partial.stat().st_size != info.size:
        raise FileChanged(f"{source} is being written; try again when it is complete")
    if info.modify_time is not None:
        moment = info.modify_time.timestamp()
        os.utime(partial, (moment, moment))
    partial.replace(target)


def _send_parts(files: Files, source: Source, target: Remote, notes: Notes, told: Progress, *, replace: bool) -> None:
    mark = source.mark
    upload, sent = notes.read(mark)
    if upload is None:
        upload = files.begin_upload(target.name, target.path, source.size, owner=target.owner)
        notes.begin(mark, upload)
    told(sum(part.size for part in sent.values()))
    size, known = upload.part_size, upload

    def one(number: int) -> FilePart:
        body = source.read((number - 1) * size, size)
        return files.send_part(target.name, target.path, known.id, number, body, owner=target.owner)

    numbers = range(1, -(-source.size // size) + 1)
    for part in _several([number for number in numbers if number not in sent], one):
        sent[part.number] = part
        notes.add(part)
        told(part.size)
    if source.mark != mark:
        files.drop_upload(target.name, target.path, upload.id, owner=target.owner)
        notes.forget()
        raise FileChanged("the file was changed while it was sent; send it again")
    parts = [sent[number] for number in numbers]
    files.finish_upload(target.name, target.path, upload.id, parts, owner=target.owner, replace=replace)
    notes.forget()


def _several(things: Iterable[A], work: Callable[[A], B]) -> Iterator[B]:
    """What the work gives of each, in order, while some more are under way."""
    under_way: deque[Future[B]] = deque()
    with ThreadPoolExecutor(WORKERS) as pool:
        try:
            for thing in things:
                under_way.append(pool.submit(work, thing))
                if len(under_way) > WORKERS:
                    yield under_way.popleft().result()
            while under_way:
                yield under_way.popleft().result()
        finally:
            for future in under_way:
                future.cancel()
