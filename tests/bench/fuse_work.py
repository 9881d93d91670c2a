"""What programs do with a mount, the same for every product: each returns seconds, or fails if a byte is wrong."""

from __future__ import annotations

import mmap
import os
import random
import re
import subprocess
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from bench.fuse_data import BIG, BIG_PATH, FILES, FLAT, MIB, SMALL, SMALL_PATHS, block, small

READERS = 8
RANDOM_READS = 20_000
WRITTEN = 1_000
NAMES = FILES
SPARE = 3 << 30


def settle_disk(*, forget: bool = False) -> None:
    """What others have written is on the disk. `forget`: nothing of any file is in memory any more.

    A virtual machine gives free memory back to its host, and pays when it asks for it again: what is timed afterwards
    finds some that is at hand.
    """
    os.sync()
    if forget:
        Path("/proc/sys/vm/drop_caches").write_text("3")
    found = re.search(r"MemFree: *(\d+)", Path("/proc/meminfo").read_text())
    free = int(found.group(1)) * 1024 if found else 0
    with mmap.mmap(-1, max(MIB, min(SPARE, free // 2)), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        memory.madvise(mmap.MADV_HUGEPAGE)
        for place in range(0, len(memory), 4096):
            memory[place] = 1


def together(work: Callable[[int], None], processes: int) -> float:
    """Seconds until all are done, each in a process of its own; they begin when all of them are there."""
    there, begin = os.pipe(), os.pipe()
    children = [_child(partial(work, number), there, begin) for number in range(processes)]
    try:
        os.close(there[1])
        for _ in children:
            assert os.read(there[0], 1), "a reader or writer did not begin"
        begun = time.perf_counter()
    finally:
        os.close(begin[1])
    failed = [child for child in children if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])]
    took = time.perf_counter() - begun
    os.close(there[0])
    os.close(begin[0])
    assert not failed, f"{len(failed)} of {processes} readers or writers failed"
    return took


def _child(work: Callable[[], None], there: tuple[int, int], begin: tuple[int, int]) -> int:
    """Says that it is there, and works once nobody holds the other end of its pipe any more."""
    if child := os.fork():
        return child
    try:
        os.close(begin[1])
        os.write(there[1], b"x")
        os.read(begin[0], 1)
        work()
        os._exit(0)
    except (OSError, AssertionError) as error:
        os.write(2, f"{error!r}\n".encode())
    finally:
        os._exit(1)


def epoch(place: Path, seed: int) -> float:
    """Reads all small files once, in no order."""
    todo = list(range(FILES))
    random.Random(seed).shuffle(todo)
    paths = [os.fsencode(place / path) for path in SMALL_PATHS]

    def work(reader: int) -> None:
        memory = bytearray(SMALL + 4096)
        for turn, number in enumerate(todo[reader::READERS]):
            _read_small(paths[number], number, memory, whole=turn % 64 == 0)

    return together(work, READERS)


def read_big(place: Path) -> float:
    """Reads the big file from its beginning to its end."""

    def work(_: int) -> None:
        memory = bytearray(MIB)
        descriptor = os.open(place / BIG_PATH, os.O_RDONLY)
        for number in range(BIG // MIB):
            _fill(descriptor, memory)
            _check_block(memory, number, whole=number % 64 == 0)

    return together(work, 1)


def read_mapped(place: Path) -> float:
    """The same through a mapping."""

    def work(_: int) -> None:
        with (place / BIG_PATH).open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as memory:
            for number in range(BIG // MIB):
                _check_block(memory[number * MIB : (number + 1) * MIB], number, whole=number % 64 == 0)

    return together(work, 1)


def read_at_random(place: Path, processes: int) -> float:
    """Reads pages of the big file, none twice."""
    pages = random.Random(1).sample(range(BIG // 4096), RANDOM_READS)

    def work(reader: int) -> None:
        memory = [bytearray(4096)]
        descriptor = os.open(place / BIG_PATH, os.O_RDONLY)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_RANDOM)
        for page in pages[reader::processes]:
            assert os.preadv(descriptor, memory, page * 4096) == 4096

    return together(work, processes)


def list_tree(place: Path) -> float:
    begun = time.perf_counter()
    told = subprocess.run(["ls", "-lR", str(place / "tree")], capture_output=True, text=True, check=False)
    took = time.perf_counter() - begun
    assert told.stdout.count(".bin") == FILES, told.stderr[-300:]
    return took


def stat_all(place: Path) -> float:
    paths = [os.fsencode(place / path) for path in SMALL_PATHS]
    begun = time.perf_counter()
    for path in paths:
        os.stat(path)
    return time.perf_counter() - begun


def list_names(place: Path) -> float:
    """Reads the names of the hundred folders, again and again."""
    return _list_names(sorted(os.fsencode(each) for each in (place / "tree").iterdir()))


def list_flat(place: Path) -> float:
    """Reads the names of the one folder that has as many as all others, again and again."""
    return _list_names([os.fsencode(place / FLAT)])


def _list_names(folders: Sequence[bytes]) -> float:
    begun = time.perf_counter()
    for _ in range(5):
        for folder in folders:
            os.listdir(folder)
    return time.perf_counter() - begun


def write_small(folder: Path, writers: int) -> float:
    folder.mkdir()

    def work(writer: int) -> None:
        for number in range(writer, WRITTEN, writers):
            _write(folder / f"{number}.bin", [small(number)])

    return together(work, writers)


def write_big(file: Path) -> float:
    bodies = [block(number) for number in range(64)]
    return together(lambda _: _write(file, bodies * (BIG // MIB // 64)), 1)


def _read_small(path: bytes, number: int, memory: bytearray, *, whole: bool) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    count, view = 0, memoryview(memory)
    while count < SMALL:
        got = os.readv(descriptor, [view[count:]])
        assert got, f"{path!r} ends at {count}"
        count += got
    os.close(descriptor)
    right = small(number) if whole else b"small%011d" % number
    assert memory[: len(right)] == right, path


def _fill(descriptor: int, memory: bytearray) -> None:
    view, count = memoryview(memory), 0
    while count < len(memory):
        got = os.readv(descriptor, [view[count:]])
        assert got, "the file ends too early"
        count += got


def _check_block(memory: bytes | bytearray, number: int, *, whole: bool) -> None:
    right = block(number) if whole else b"block%011d" % number
    assert memory[: len(right)] == right, f"the block {number} is another one"


def _write(file: Path, bodies: Sequence[bytes]) -> None:
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    for each in bodies:
        view = memoryview(each)
        while view:
            view = view[os.write(descriptor, view) :]
    os.close(descriptor)
