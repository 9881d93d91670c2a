"""How fast files are written and read in a folder, as programs do it."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

MIB = 1 << 20
SMALL = 100 * 1024
"""Bytes of a small file: what pictures of a training have."""
PAGE = 4096
_RANDOM = 1000
"""Reads in no order."""


@dataclass(frozen=True, slots=True)
class Size:
    """How much is written and read."""

    large: int = 256 * MIB
    files: int = 500
    at_once: int = 4
    """Threads that go through the small files."""


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement."""

    what: str
    seconds: float
    bytes: int
    count: int
    """Files, or reads."""
    half: float
    """Seconds within which half of them were done; 0 if there was only one."""
    most: float
    """Seconds within which 99 of 100 were done."""


def bench(place: Path, size: Size) -> Iterator[Row]:
    """Writes, reads and removes files in a folder of its own. OSError if that cannot be made."""
    with _folder(place) as folder:
        yield from _large(folder / "large", size.large)
        yield from _small(folder / "small", size)


@contextmanager
def _folder(place: Path) -> Iterator[Path]:
    """Gone afterwards, whatever happens."""
    folder = Path(tempfile.mkdtemp(prefix=".paddleflow-bench-", dir=place))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _large(file: Path, size: int) -> Iterator[Row]:
    piece = os.urandom(MIB)
    begun = time.perf_counter()
    with file.open("wb", buffering=0) as writing:
        for _ in range(size // MIB):
            writing.write(piece)
        os.fsync(writing.fileno())
    yield _whole("write a large file", begun, size)
    for what in ("read it", "read it again"):
        _forget(file)
        begun = time.perf_counter()
        with file.open("rb", buffering=0) as reading:
            buffer = bytearray(MIB)
            while reading.readinto(buffer):
                pass
        yield _whole(what, begun, size)
    _forget(file)
    chance = random.Random(1)  # noqa: S311 -- the same places each time
    places = [chance.randrange(max(1, size // PAGE)) * PAGE for _ in range(_RANDOM)]
    with file.open("rb", buffering=0) as reading:
        descriptor = reading.fileno()
        yield _each("read 4 KiB of it in no order", lambda at: len(os.pread(descriptor, PAGE, at)), places, 1)


def _small(folder: Path, size: Size) -> Iterator[Row]:
    folder.mkdir()
    body = os.urandom(SMALL)
    files = [folder / f"{number:06}" for number in range(size.files)]
    yield _each("write small files", lambda file: file.write_bytes(body), files, size.at_once)
    begun = time.perf_counter()
    with os.scandir(folder) as entries:
        count = sum(entry.stat().st_size > 0 for entry in entries)
    yield Row("list and stat them", time.perf_counter() - begun, 0, count, 0.0, 0.0)
    for what in ("read them", "read them again"):
        for file in files:
            _forget(file)
        shuffled = random.Random(2).sample(files, len(files))  # noqa: S311 -- as above
        yield _each(what, lambda file: len(file.read_bytes()), shuffled, size.at_once)
    yield _each("remove them", _removed, files, size.at_once)


def _removed(file: Path) -> int:
    file.unlink()
    return 0


def _each(what: str, work: Callable[..., int], things: Sequence[object], at_once: int) -> Row:
    """Does something with each thing, so many at once; it says how many bytes that were."""

    def timed(thing: object) -> tuple[float, int]:
        begun = time.perf_counter()
        done = work(thing)
        return time.perf_counter() - begun, done

    begun = time.perf_counter()
    with ThreadPoolExecutor(at_once) as pool:
        found = list(pool.map(timed, things))
    seconds = time.perf_counter() - begun
    times = sorted(took for took, _ in found)
    return Row(what, seconds, sum(done for _, done in found), len(found), _share(times, 0.5), _share(times, 0.99))


def _share(times: Sequence[float], share: float) -> float:
    return times[min(len(times) - 1, int(share * len(times)))] if times else 0.0


def _whole(what: str, begun: float, size: int) -> Row:
    return Row(what, time.perf_counter() - begun, size, 1, 0.0, 0.0)


def _forget(file: Path) -> None:
    """What the kernel has cached of it, if it may: reading is of whoever serves the folder."""
    descriptor = os.open(file, os.O_RDONLY)
    try:
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)
