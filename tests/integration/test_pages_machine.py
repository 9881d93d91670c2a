"""Any use of the page cache by two processes, with crashes and damage in between, gives right bytes or none."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from pf_fuse.pages.cache import CacheSettings, PageCache
from pf_fuse.pages.file import CachedFile
from pf_fuse.pages.folder import AGAIN
from pf_fuse.pages.keys import PAGE, Key
from pf_fuse.pages.stored import ATTRIBUTE
from support.fake_place import content

LARGE = 65 * 1024 * 1024
"""Of a file whose sheet does not fit into its attributes; nearly all of it stays a hole."""
SIZES = (0, 1, PAGE, 3 * PAGE + 5, 9 * PAGE, LARGE)
DATA = {number: content(number, min(size, 10 * PAGE)) for number, size in enumerate(SIZES)}
NUMBERS = st.integers(0, len(SIZES) - 1)
PROCESSES = st.integers(0, 1)
PLACES = st.integers(0, 10 * PAGE)
BITS = st.integers(0, 7)


def key(number: int) -> Key:
    return Key("memory://machine", str(number), "1")


def expected(number: int, start: int, size: int) -> bytes:
    return DATA[number][start : start + size]


class PageCacheMachine(RuleBasedStateMachine):
    """Two processes that share two folders."""

    def __init__(self) -> None:
        super().__init__()
        self.top = Path(tempfile.mkdtemp(prefix="pages-"))
        self.folders = [self.top / "one", self.top / "two"]
        self.time = 0.0
        self.caches = [self.begin(), self.begin()]
        self.files: dict[tuple[int, int], CachedFile] = {}

    def begin(self) -> PageCache:
        bound = 64 * PAGE
        return PageCache(CacheSettings([str(folder) for folder in self.folders], bound), clock=lambda: self.time)

    def teardown(self) -> None:
        self.stop(0)
        self.stop(1)
        shutil.rmtree(self.top)

    def stop(self, process: int) -> None:
        for place in [place for place in self.files if place[0] == process]:
            self.caches[process].close(self.files.pop(place))
        self.caches[process].end()

    @rule(process=PROCESSES, number=NUMBERS)
    def opens(self, process: int, number: int) -> None:
        if (process, number) not in self.files:
            self.files[process, number] = self.caches[process].open(key(number), SIZES[number])

    @precondition(lambda self: self.files)
    @rule(data=st.data(), first=st.integers(0, 9), count=st.integers(1, 10))
    def fills(self, data: st.DataObject, first: int, count: int) -> None:
        (_, number), file = data.draw(st.sampled_from(sorted(self.files.items(), key=lambda item: item[0])))
        start = first * PAGE
        part = expected(number, start, count * PAGE)
        if not part:
            return
        kept = file.fill(start, part)
        found = file.read(start, len(part))
        # What was there before may turn out to be damaged only when it is read.
        assert found == part or (found is None and (not kept or file.bad))

    @precondition(lambda self: self.files)
    @rule(data=st.data(), start=st.integers(0, 10 * PAGE), size=st.integers(0, 3 * PAGE))
    def reads(self, data: st.DataObject, start: int, size: int) -> None:
        (_, number), file = data.draw(st.sampled_from(sorted(self.files.items(), key=lambda item: item[0])))
        found = file.read(start, size)
        if found is None:
            return
        assert found == expected(number, start, size)
        assert file.missing(start, size) == []

    @precondition(lambda self: self.files)
    @rule(data=st.data())
    def hands_out(self, data: st.DataObject) -> None:
        (_, number), file = data.draw(st.sampled_from(sorted(self.files.items(), key=lambda item: item[0])))
        if file.verify() and SIZES[number]:
            descriptor = file.fix()
            assert descriptor >= 0
            assert os.pread(descriptor, SIZES[number] + 1, 0) == DATA[number]

    @precondition(lambda self: self.files)
    @rule(data=st.data())
    def closes(self, data: st.DataObject) -> None:
        place = data.draw(st.sampled_from(sorted(self.files)))
        self.caches[place[0]].close(self.files.pop(place))

    @rule(process=PROCESSES, number=NUMBERS)
    def drops(self, process: int, number: int) -> None:
        self.caches[process].drop(key(number))

    @rule(process=PROCESSES)
    def tidies(self, process: int) -> None:
        self.caches[process].look()
        self.caches[process].tidy()

    @rule(process=PROCESSES)
    def restarts(self, process: int) -> None:
        self.stop(process)
        self.caches[process] = self.begin()

    @rule(process=PROCESSES)
    def checks(self, process: int) -> None:
        self.caches[process].check()

    @rule(folder=st.integers(0, 1))
    def loses_a_folder_for_a_while(self, folder: int) -> None:
        inside, aside = self.folders[folder] / "pages.1", self.top / f"aside{folder}"
        if aside.exists():
            with contextlib.suppress(FileNotFoundError):
                shutil.rmtree(inside)
            aside.rename(inside)
            self.time += AGAIN + 1
        elif inside.exists():
            inside.rename(aside)

    @rule(chosen=st.lists(st.tuples(st.integers(0, 20), st.integers(0, 5)), max_size=3), at=PLACES, bit=BITS)
    def loses_power(self, chosen: list[tuple[int, int]], at: int, bit: int) -> None:
        """What was not on the disk is gone or wrong, in any combination."""
        self.stop(0)
        self.stop(1)
        harms = [_flip, _zero, _cut, _remove, _forget, _misremember]
        stored = sorted(path for folder in self.folders for path in folder.glob("pages.1/??/*"))
        for place, harm in chosen:
            if stored:
                harms[harm](stored.pop(place % len(stored)), at, bit)
        self.caches = [self.begin(), self.begin()]

    @invariant()
    def stays_within_its_bound(self) -> None:
        used = sum(path.stat().st_blocks * 512 for folder in self.folders for path in folder.glob("pages.1/??/*"))
        # Two processes count for themselves, and tidy up when they look again.
        assert used <= 2 * 64 * PAGE + 100 * 4096


def _flip(path: Path, at: int, bit: int) -> None:
    data = bytearray(path.read_bytes())
    if data:
        data[at % len(data)] ^= 1 << bit
        with path.open("r+b") as raw:
            raw.seek(at % len(data))
            raw.write(data[at % len(data) :][:1])


def _zero(path: Path, at: int, bit: int) -> None:
    with path.open("r+b") as raw:
        raw.seek(at % max(1, path.stat().st_size))
        raw.write(bytes(min(PAGE, path.stat().st_size - raw.tell())))


def _cut(path: Path, at: int, bit: int) -> None:
    os.truncate(path, at % max(1, path.stat().st_size))


def _remove(path: Path, at: int, bit: int) -> None:
    path.unlink()


def _forget(path: Path, at: int, bit: int) -> None:
    with contextlib.suppress(OSError):
        os.removexattr(path, ATTRIBUTE)


def _misremember(path: Path, at: int, bit: int) -> None:
    with contextlib.suppress(OSError):
        sheet = bytearray(os.getxattr(path, ATTRIBUTE))
        sheet[at % len(sheet)] ^= 1 << bit
        os.setxattr(path, ATTRIBUTE, bytes(sheet))


PageCacheMachine.TestCase.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
TestPageCache = PageCacheMachine.TestCase
