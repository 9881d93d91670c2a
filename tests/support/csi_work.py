"""Programs that use a volume all the while, and see no error and no wrong byte."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

from support.stacks import wait_until

CONTENT = os.urandom(1 << 20)


@contextmanager
def working(file: Path) -> Iterator[None]:
    """For the block: one that keeps a file open, one that maps it, one that writes and one that makes and removes.

    The file has `CONTENT`.
    """
    over, wrong = Event(), list[str]()
    works = [_Reading(file), _Mapping(file), _Writing(file), _Making(file)]

    def work(each: _Reading | _Mapping | _Writing | _Making) -> None:
        try:
            with each:
                while not over.is_set():
                    each.once()
        except (OSError, AssertionError) as error:
            wrong.append(f"{type(each).__name__}: {error!r}")

    threads = [Thread(target=work, args=(each,)) for each in works]
    for thread in threads:
        thread.start()
    try:
        yield
        wait_until(lambda: bool(wrong) or all(each.rounds for each in works))
    finally:
        over.set()
        for thread in threads:
            thread.join(60)
    assert not wrong
    assert not any(thread.is_alive() for thread in threads)


class _Reading:
    """By a file that stays open, and by one that is opened each time."""

    def __init__(self, file: Path) -> None:
        self._path = file
        self.rounds = 0

    def __enter__(self) -> None:
        self._file = self._path.open("rb", buffering=0)

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def once(self) -> None:
        self._file.seek(0)
        assert self._file.read() == CONTENT
        assert self._path.read_bytes() == CONTENT
        self.rounds += 1


class _Mapping(_Reading):
    """Through memory."""

    def once(self) -> None:
        with mmap.mmap(self._file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
            assert mapped[:] == CONTENT
        self.rounds += 1


class _Writing(_Reading):
    """At the end of one file, which is looked at each time."""

    def __enter__(self) -> None:
        self._file = self._path.with_name("written").open("wb", buffering=0)

    def once(self) -> None:
        self._file.write(b"%08d" % self.rounds)
        self.rounds += 1
        assert os.fstat(self._file.fileno()).st_size == 8 * self.rounds


class _Making(_Reading):
    """Folders and files that come and go."""

    def once(self) -> None:
        folder = self._path.with_name("made")
        folder.mkdir()
        (folder / "a").write_bytes(b"text")
        (folder / "a").rename(folder / "b")
        assert [each.name for each in folder.iterdir()] == ["b"]
        assert (folder / "b").read_bytes() == b"text"
        (folder / "b").unlink()
        folder.rmdir()
        self.rounds += 1
