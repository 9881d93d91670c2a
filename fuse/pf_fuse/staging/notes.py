"""What must be finished or undone by the next process if this one ends before: a small file for each."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from pf_fuse.staging.disk import of_disk, sync_folder

logger = logging.getLogger(__name__)

T = TypeVar("T")


class Notes(Generic[T]):
    """A folder of notes of one kind."""

    def __init__(self, folder: Path, kind: type[T], new_name: Callable[[], str], *, lasting: bool = False) -> None:
        """`lasting`: they outlive the machine, for which whoever writes one waits."""
        self._lasting = lasting
        self._folder = folder
        self._decoder = msgspec.msgpack.Decoder(kind)
        self._new_name = new_name
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    @contextmanager
    def note(self, value: T) -> Iterator[None]:
        """Is there while the block is under way, and left if the process ends within it."""
        file = self.write(value)
        try:
            yield
        finally:
            file.unlink(missing_ok=True)

    def write(self, value: T) -> Path:
        """A note that is there until its file is removed."""
        file = self._folder / self._new_name()
        beside = file.with_suffix(".new")
        with of_disk():
            beside.write_bytes(msgspec.msgpack.encode(value))
            if self._lasting:
                with beside.open("rb") as written:
                    os.fsync(written.fileno())
            beside.rename(file)
            if self._lasting:
                sync_folder(self._folder)
        return file

    def left(self) -> Iterator[tuple[Path, T]]:
        """What is left of processes before. Whoever has dealt with one removes its file.

        Of those that do not last, the disk may have kept but the names when the machine went down.
        """
        for file in sorted(self._folder.iterdir()):
            if file.suffix == ".new":
                file.unlink()
                continue
            try:
                value = self._decoder.decode(file.read_bytes())
            except msgspec.DecodeError as error:
                logger.warning("a note cannot be read, and is removed", extra={"note": str(file), "why": str(error)})
                file.unlink()
            else:
                yield file, value
