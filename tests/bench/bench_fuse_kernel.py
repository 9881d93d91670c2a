"""How fast a mount is that the kernel's own protocol serves, beside the folder that it mirrors."""

from __future__ import annotations

import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.report import Parts, run
from pf_fuse.operations import Reach
from support.figures import Figure
from support.fuse_mounts import MirrorMount, begin

MIB = 1 << 20
BIG = 512 * MIB
READS = 40_000
SMALL = 2_000
SMALL_SIZE = 100 * 1024
NAMES = 10_000
ROUNDS = 3
TICK = os.sysconf("SC_CLK_TCK")
KEPT = int(Reach.KEEP_CACHE | Reach.NO_FLUSH | Reach.CACHE_FOLDER)


@contextmanager
def mounted(root: Path, **how: Any) -> Iterator[MirrorMount]:
    manners = {"lasts": 300.0, "one_buffer": True} | how.pop("manners", {})
    with tempfile.TemporaryDirectory() as folder:
        mount = begin(root, Path(folder) / "place", manners=manners, **how)
        try:
            yield mount
        finally:
            mount.end()


def processor(mount: MirrorMount) -> float:
    """Seconds that the serving process has used."""
    fields = Path(f"/proc/{mount.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def together(work: Callable[[int], None], processes: int) -> float:
    """Seconds until all are done."""
    begun = time.perf_counter()
    children = []
    for number in range(processes):
        child = os.fork()
        if child == 0:
            work(number)
            os._exit(0)
        children.append(child)
    assert all(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0 for child in children)
    return time.perf_counter() - begun


def fastest(measure: Callable[[], float]) -> float:
    return min(measure() for _ in range(ROUNDS))


def read_at_random(path: Path, processes: int) -> float:
    """Seconds for all reads."""

    def work(number: int) -> None:
        chance = random.Random(number)
        places = [chance.randrange(BIG // 4096) * 4096 for _ in range(READS // processes)]
        memory = [bytearray(4096)]
        descriptor = os.open(path, os.O_RDONLY)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_RANDOM)
        for place in places:
            os.preadv(descriptor, memory, place)

    return together(work, processes)


def read_all(path: Path) -> float:
    """Seconds to read a big file from its beginning to its end."""
    memory = [bytearray(MIB)]
    descriptor = os.open(path, os.O_RDONLY)
    begun = time.perf_counter()
    while os.readv(descriptor, memory):
        pass
    took = time.perf_counter() - begun
    os.close(descriptor)
    return took


def read_small(folder: Path) -> float:
    """Seconds to read all small files once."""
    memory = [bytearray(SMALL_SIZE + 1)]
    paths = [os.fsencode(folder / f"small-{number}") for number in range(SMALL)]
    begun = time.perf_counter()
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        os.readv(descriptor, memory)
        os.close(descriptor)
    return time.perf_counter() - begun


def list_names(folder: Path) -> float:
    begun = time.perf_counter()
    assert len(os.listdir(folder)) == NAMES
    return time.perf_counter() - begun


def fill(root: Path) -> None:
    block = random.Random(1).randbytes(MIB)
    with (root / "big").open("wb") as big:
        for _ in range(BIG // MIB):
            big.write(block)
    for number in range(SMALL):
        (root / f"small-{number}").write_bytes(block[:SMALL_SIZE])
    (root / f"made-up-{NAMES}").mkdir()


def random_reads(root: Path) -> list[Figure]:
    figures = []
    with mounted(root) as mount:
        for processes in (1, 4):
            local = READS / fastest(lambda: read_at_random(root / "big", processes))  # noqa: B023  # called at once
            before = processor(mount)
            took = fastest(lambda: read_at_random(mount.place / "big", processes))  # noqa: B023  # called at once
            used = (processor(mount) - before) / ROUNDS / READS * 1e6
            figures += [
                Figure(f"random 4 KiB, {processes} at once", READS / took, "1/s", local),
                Figure(f"processor for each of them, {processes} at once", used, "us", at_most=11),
            ]
    with mounted(root, manners={"passthrough": True}) as mount:
        local = READS / fastest(lambda: read_at_random(root / "big", 1))
        took = fastest(lambda: read_at_random(mount.place / "big", 1))
        ratio = READS / took / local
        figures.append(Figure("random 4 KiB, passthrough, of the local rate", ratio, "", at_least=0.9))
    return figures


def sequential(root: Path) -> list[Figure]:
    figures = []
    local = BIG / fastest(lambda: read_all(root / "big")) / 1e9
    for name, manners, least in (("asked for", {}, 0.0), ("passthrough", {"passthrough": True}, 0.95 * local)):
        with mounted(root, manners=manners) as mount:
            before = processor(mount)
            rate = BIG / fastest(lambda: read_all(mount.place / "big")) / 1e9  # called at once
            used = (processor(mount) - before) / ROUNDS / (BIG / (1 << 30))
        figures.append(Figure(f"sequential, {name}", rate, "GB/s", local, at_least=least))
        figures.append(Figure(f"processor for each GiB, {name}", used, "s", at_most=0.2))
    return figures


def small_files(root: Path) -> list[Figure]:
    local = SMALL / fastest(lambda: read_small(root))
    figures = []
    for name, manners, options in (
        ("as usual", {"reach": KEPT & ~int(Reach.NO_FLUSH)}, {}),
        ("no flush", {"reach": KEPT}, {}),
        ("not opened", {"zero_open": True}, {"read_only": True}),
        ("passthrough", {"passthrough": True, "reach": int(Reach.NO_FLUSH)}, {}),
    ):
        with mounted(root, manners=manners, options=options) as mount:
            first = SMALL / read_small(mount.place)
            again = SMALL / fastest(lambda: read_small(mount.place))  # called at once
        figures.append(Figure(f"files of 100 KiB, {name}, first", first, "1/s", local))
        figures.append(Figure(f"files of 100 KiB, {name}, again", again, "1/s", local))
    return figures


def names(root: Path) -> list[Figure]:
    with mounted(root, manners={"reach": KEPT}) as mount:
        folder = mount.place / f"made-up-{NAMES}"
        first = NAMES / list_names(folder)
        list_names(folder)
        again = NAMES / fastest(lambda: list_names(folder))
    return [
        Figure("names listed, first", first, "1/s"),
        Figure("names listed, again", again, "1/s"),
    ]


def main() -> int:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        root = Path(folder, "root")
        root.mkdir()
        fill(root)
        parts: Parts = {
            "random": lambda: random_reads(root),
            "sequential": lambda: sequential(root),
            "small": lambda: small_files(root),
            "names": lambda: names(root),
        }
        return run("fuse-kernel", "A mirror of a folder, served by the kernel's own protocol", parts, sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
