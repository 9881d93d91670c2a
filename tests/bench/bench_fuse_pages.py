"""What the page cache and the fetcher of a mount cost: `make bench-fuse-pages`."""

from __future__ import annotations

import mmap
import os
import resource
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from bench.report import Parts, run
from pf_backends.entries import Entry, Kind
from pf_fuse.fetching.fetcher import Fetcher
from pf_fuse.fetching.settings import MIB
from pf_fuse.pages.cache import CacheSettings, PageCache
from pf_fuse.pages.file import CachedFile
from pf_fuse.pages.keys import Key
from support.fake_place import FakeNeighbours, FakePlace
from support.figures import Figure

GIB = 1024 * MIB
SMALL = 100 * 1024
FILES = 10_000
MANY = 100_000
THREADS = 8
PATIENCE = 60.0


@contextmanager
def place_for(name: str) -> Iterator[str]:
    """A folder on a disk: that of the user's home, or of BENCH_DISK. Temporary ones may be in memory."""
    folder = tempfile.mkdtemp(prefix=f"bench-{name}-", dir=os.environ.get("BENCH_DISK", Path.home()))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def timed(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def key(number: int | str) -> Key:
    return Key("bench://place", f"folder/{number}", "1")


def hits() -> list[Figure]:
    with place_for("hits") as folder:
        cache = PageCache(CacheSettings([folder]))
        file = cache.open(key("hits"), 64 * MIB)
        file.fill(0, os.urandom(64 * MIB))
        raw = file.fix()
        _each(64, lambda place: os.pread(raw, MIB, place * MIB))
        places = [place * 4096 % (63 * MIB) for place in range(0, 50_000 * 97, 97)]
        ours = timed(lambda: [file.read(place, 4096) for place in places])
        bare = timed(lambda: [os.pread(raw, 4096, place) for place in places])
        large = timed(lambda: _each(64, lambda place: file.read(place * MIB, MIB))) / 64
        large_bare = timed(lambda: _each(64, lambda place: os.pread(raw, MIB, place * MIB))) / 64
        again = timed(lambda: _each(20_000, lambda _: cache.close(cache.open(key("hits"), 64 * MIB))))
        cache.close(file)
        cache.end()
    return [
        Figure("a hit of 4 KiB; reference: pread", ours / len(places) * 1e6, "µs", bare / len(places) * 1e6, at_most=8),
        Figure("a hit of 1 MiB; reference: pread", large * 1e6, "µs", large_bare * 1e6),
        Figure("opening and closing a file that was open before", again / 20_000 * 1e6, "µs", at_most=10),
    ]


def _each(count: int, work: Callable[[int], object]) -> None:
    """Keeps no result, whose memory would have to be fresh each time."""
    for place in range(count):
        work(place)


def filling() -> list[Figure]:
    memory = mmap.mmap(-1, 4 * MIB)
    memory.write(os.urandom(4 * MIB))
    data = memoryview(memory)
    with place_for("fill") as folder:
        cache = PageCache(CacheSettings([folder]))
        bare = [timed(partial(_write, f"{folder}/{name}", data, 128)) for name in "abc"]
        ours, used = [], 0.0
        for each in range(3):
            file = cache.open(key(each), GIB // 2)
            before = cpu()
            ours.append(timed(partial(_fill, file, data)))
            used = cpu() - before
            cache.close(file)
        check = timed(cache.check)
        cache.end()
    rate = [0.5 * GIB / 1e9 / seconds for seconds in (min(ours), min(bare))]
    return [
        Figure("filling a large file; reference: pwrite", rate[0], "GB/s", rate[1]),
        Figure("processor time of it", used * 2, "s/GiB"),
        Figure("checking what is there", 1.5 * GIB / 1e9 / check, "GB/s"),
    ]


def _fill(file: CachedFile, data: memoryview) -> None:
    for place in range(0, file.size, len(data)):
        file.fill(place, data)


def _write(path: str, data: memoryview, times: int) -> None:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    for place in range(times):
        os.pwrite(descriptor, data, place * len(data))
    os.close(descriptor)


def small() -> list[Figure]:
    data = os.urandom(SMALL)

    def fill(cache: PageCache) -> None:
        for each in range(FILES):
            file = cache.open(key(each), SMALL)
            file.fill(0, data)
            cache.tidy()
            cache.close(file)

    def read(cache: PageCache) -> None:
        for each in range(FILES):
            file = cache.open(key(each), SMALL)
            assert file.verify()
            file.read(0, SMALL)
            cache.close(file)

    with place_for("small") as folder:
        Path(folder, "bare").mkdir()
        bare = timed(lambda: _each(FILES, lambda each: _write(f"{folder}/bare/{each}", memoryview(data), 1)))
        shutil.rmtree(f"{folder}/bare")
        cache = PageCache(CacheSettings([folder]))
        ours = timed(lambda: fill(cache))
        cache.end()
        later = PageCache(CacheSettings([folder]))
        found = timed(lambda: read(later))
        again = timed(lambda: read(later))
        later.end()
    return [
        Figure(
            "filling files of 100 KiB; reference: open, write, close", FILES / ours, "/s", FILES / bare, at_least=10_000
        ),
        Figure("opening, checking and reading them after a restart", FILES / found, "/s"),
        Figure("the same again", FILES / again, "/s"),
    ]


def restart() -> list[Figure]:
    with place_for("restart") as folder:
        cache = PageCache(CacheSettings([folder], descriptors=0))
        for each in range(MANY):
            file = cache.open(key(each), 1000)
            file.fill(0, b"x" * 1000)
            cache.close(file)
        first = PageCache(CacheSettings([folder]))
        opened = timed(lambda: first.close(first.open(key(5), 1000)))
        look = timed(first.look)
        first.end()
        bounded = PageCache(CacheSettings([folder], files=MANY // 2))
        bounded.look()
        evict = timed(bounded.tidy)
        bounded.look()
        gone = MANY - bounded.stats().folders[0].files
    return [
        Figure("opening the first of 100,000 files after a restart", opened * 1000, "ms", at_most=5),
        Figure("counting 100,000 files", look, "s", at_most=2),
        Figure("evicting", gone / evict, "files/s"),
    ]


def epoch() -> list[Figure]:
    """10,000 files of 100 KiB through the fetcher, from memory: what is left for the backend and the kernel."""
    place = FakePlace()
    data = os.urandom(SMALL)
    entries = [place.put(f"folder/{each:05}", data) for each in range(FILES)]
    figures = []
    with place_for("epoch") as folder:
        cache = PageCache(CacheSettings([folder], descriptors=2 * FILES))
        fetcher = Fetcher(place, cache, neighbours=Listed(entries))
        for name, target in (("first", 2000.0), ("second", None)):
            before = cpu()
            seconds = timed(lambda: _read_all(fetcher, entries))
            figures.append(Figure(f"{name} epoch, 8 threads", FILES / seconds, "files/s", at_least=target))
            figures.append(Figure(f"processor time of the {name} epoch", cpu() - before, "s"))
        fetcher.end()
        cache.end()
    return figures


class Listed(FakeNeighbours):
    """A folder in order, found by name at once."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        super().__init__(entries)
        self._places = {entry.path: place for place, entry in enumerate(entries, 1)}

    def after(self, path: str, count: int) -> Sequence[Entry]:
        place = self._places.get(path, 0)
        return self.entries[place : place + count]


def _read_all(fetcher: Fetcher, entries: Sequence[Entry]) -> None:
    turns = iter(entries)
    lock = threading.Lock()

    def reader() -> None:
        while True:
            with lock:
                entry = next(turns, None)
            if entry is None:
                return
            file = fetcher.open(entry)
            answer = file.read(0, SMALL)
            found = answer.result(PATIENCE) if isinstance(answer, Future) else answer
            assert len(found) == SMALL
            file.close()

    readers = [threading.Thread(target=reader) for _ in range(THREADS)]
    for each in readers:
        each.start()
    for each in readers:
        each.join()


class Endless(FakePlace):
    """A large file of the same bytes over and over, which cost one copy."""

    block = os.urandom(4 * MIB)

    def read(self, path: str, offset: int, into: memoryview, *, version: str = "") -> int:
        into[:] = memoryview(self.block)[: len(into)]
        return len(into)


def large() -> list[Figure]:
    """A large file through the fetcher, from memory."""
    entry = Entry("large", Kind.FILE, size=GIB, version="1")
    figures = []
    for name in ("disk", "memory"):
        with place_for("large") as folder:
            cache = PageCache(CacheSettings([folder] if name == "disk" else []))
            fetcher = Fetcher(Endless(), cache)
            before = cpu()
            seconds = timed(partial(_read_through, fetcher, entry))
            figures.append(Figure(f"a large file for the first time, {name}", entry.size / 1e9 / seconds, "GB/s"))
            figures.append(Figure(f"processor time of it, {name}", cpu() - before, "s/GiB"))
            fetcher.end()
            cache.end()
    return figures


def _read_through(fetcher: Fetcher, entry: Entry) -> None:
    file = fetcher.open(entry)
    for place in range(0, entry.size, MIB):
        answer = file.read(place, MIB)
        _ = answer.result(PATIENCE) if isinstance(answer, Future) else answer
    file.close()


PARTS: Parts = {
    "hits": hits,
    "filling": filling,
    "small": small,
    "restart": restart,
    "epoch": epoch,
    "large": large,
}

if __name__ == "__main__":
    sys.exit(run("fuse-pages", "Page cache and fetcher", PARTS, sys.argv[1:]))
