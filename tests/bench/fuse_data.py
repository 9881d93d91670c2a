"""What the mounts of the bench have to read, and what is right of it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

MIB = 1 << 20
SMALL = 100 * 1024
BIG = 1 << 30
FOLDERS = 100
FILES = 10_000
_NOISE = random.Random(7).randbytes(2 * MIB)

SMALL_PATHS = [f"tree/d{number % FOLDERS:02}/f{number // FOLDERS:02}.bin" for number in range(FILES)]
BIG_PATH = "big.bin"
FLAT = "flat"
"""A folder in which all names are beside each other."""
FLAT_PATHS = [f"{FLAT}/{number:05}" for number in range(FILES)]
WRITERS = 8


def small(number: int) -> bytes:
    """Begins with what tells it from all others, as each block of the big file does."""
    return b"small%011d" % number + _NOISE[number % 4096 :][: SMALL - 16]


def block(number: int) -> bytes:
    """A MiB of the big file."""
    return b"block%011d" % number + _NOISE[number * 31 % MIB :][: MIB - 16]


def blocks() -> Iterator[bytes]:
    return (block(number) for number in range(BIG // MIB))


def fill(place: Path) -> None:
    """Writes all of it into a folder."""
    for number, path in enumerate(SMALL_PATHS):
        file = place / path
        if not number // FOLDERS:
            file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(small(number))
    with (place / BIG_PATH).open("wb") as big:
        for each in blocks():
            big.write(each)


def put(put_one: Callable[[str, bytes], object]) -> None:
    """Stores all small files, and those that have only a name, several at once."""
    with ThreadPoolExecutor(WRITERS) as writers:
        stored = [writers.submit(put_one, path, small(number)) for number, path in enumerate(SMALL_PATHS)]
        for done in [*stored, *(writers.submit(put_one, path, b"") for path in FLAT_PATHS)]:
            done.result()
