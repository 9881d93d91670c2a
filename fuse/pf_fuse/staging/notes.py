"""What must be finished or undone by the next process if this one ends before: a small file for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from pf_fuse.staging.disk import of_disk

T = TypeVar("T")


class Notes(Generic[T]):
    """A folder of notes of one kind."""

    def __init__(self, folder: Path, kind: type[T], new_name: Callable[[], str]) -> None:
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
            beside.rename(file)
        return file

    def left(self) -> Iterator[tuple[Path, T]]:
        """What is left of processes before. Whoever has dealt with one removes its file."""
        for file in sorted(self._folder.iterdir()):
            if file.suffix == ".new":
                file.unlink()
            else:
                yield file, self._decoder.decode(file.read_bytes())
