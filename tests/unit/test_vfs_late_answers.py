"""What a backend told before something was changed here, and what arrives after it, takes nothing from anybody."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from pf_backends.entries import Capabilities, Condition, Entry, Facts
from pf_backends.memory.backend import EVERYTHING, LIKE_OBJECTS, MemoryBackend
from pf_backends.port import ANYTHING, NO_FACTS
from pf_fuse.operations import TOP, Changes
from support.vfs_site import ME, PATIENCE, Site, got


class Late(MemoryBackend):
    """Answers once what is asked of one path later, and does not tell the time at which a file arrived."""

    late = "none"

    def __init__(self, capabilities: Capabilities = LIKE_OBJECTS) -> None:
        super().__init__(capabilities=capabilities)
        self.asked, self.go = threading.Event(), threading.Event()

    def put_hastily(
        self, path: str, body: memoryview | bytes, *, facts: Facts = NO_FACTS, condition: Condition = ANYTHING
    ) -> Entry:
        return self.put(path, body, facts=facts, condition=condition)

    def stat(self, path: str) -> Entry:
        first = path == self.late and not self.asked.is_set()
        if first:
            self.asked.set()
        try:
            return super().stat(path)
        finally:
            if first:
                assert self.go.wait(PATIENCE)


class Clock:
    """Stands still unless it is moved: all that happens within a moment happens in some order."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store() -> Late:
    return Late()


@pytest.fixture
def site(store: Late, tmp_path: Path, clock: Clock) -> Iterator[Site]:
    site = Site(store, tmp_path, clock=clock)
    yield site
    store.go.set()
    site.die()


def looked(site: Site, store: Late, clock: Clock, node: int, path: str) -> Future[Any]:
    """Somebody asks for a file, and the store has looked at it, and has not answered yet."""
    clock.now += 10
    store.late = path
    looking = site.vfs.getattr(ME, node)
    assert isinstance(looking, Future)
    assert store.asked.wait(PATIENCE)
    return looking


def test_who_writes_keeps_the_name_though_somebody_looked_before(site: Site, store: Late, clock: Clock) -> None:
    store.put("log", b"1")
    node = site.open("log", 2)
    looking = looked(site, store, clock, node, "log")
    site.put(node, b"12")
    got(site.vfs.fsync(node, data_only=False))
    store.go.set()
    assert looking.result(PATIENCE).attributes.size == 2
    site.put(node, b"123")
    site.close(node)
    assert store.fetch("log", limit=9)[1] == b"123"


def test_what_was_closed_is_told_though_somebody_looked_before(site: Site, store: Late, clock: Clock) -> None:
    store.put("f", b"1")
    looking = looked(site, store, clock, site.node("f"), "f")
    site.write("f", b"12345")
    store.go.set()
    looking.result(PATIENCE)
    assert site.size("f") == 5


@pytest.mark.parametrize("can", [EVERYTHING, LIKE_OBJECTS], ids=["folders", "objects"])
def test_a_file_that_took_the_name_of_another_keeps_it(tmp_path: Path, clock: Clock, can: Capabilities) -> None:
    store = Late(can)
    store.put("f", b"old")
    store.put("new", b"newer")
    site = Site(store, tmp_path, clock=clock)
    try:
        node = site.node("new")
        looking = looked(site, store, clock, site.node("f"), "f")
        site.rename("new", "f")
        store.go.set()
        assert looking.exception(PATIENCE)
        assert site.node("f") == node
        assert site.read("f") == b"newer"
    finally:
        store.go.set()
        site.die()


def test_what_is_emptied_here_keeps_its_name_though_nothing_was_there_before(
    site: Site, store: Late, clock: Clock
) -> None:
    store.put("f", b"old")
    node = site.open("f", 2)
    clock.now += 10
    store.remove("f")
    looking = looked(site, store, clock, node, "f")
    got(site.vfs.setattr(ME, node, Changes(size=0, by_handle=True)))
    store.go.set()
    assert looking.result(PATIENCE).attributes.size == 0
    assert site.names("") == ["f"]


def test_what_was_made_here_is_there_though_nothing_was_found_before(site: Site, store: Late, clock: Clock) -> None:
    store.late = "f"
    looking = site.vfs.lookup(ME, TOP, b"f")
    assert isinstance(looking, Future)
    assert store.asked.wait(PATIENCE)
    site.write("f", b"12")
    store.go.set()
    looking.result(PATIENCE)
    assert site.size("f") == 2


@pytest.mark.parametrize("moment", [0.0, 2.0], ids=["in the same moment", "later"])
def test_who_reads_on_in_an_older_list_takes_the_name_from_nobody(
    site: Site, store: Late, clock: Clock, moment: float
) -> None:
    for name in "abcdef":
        store.put(name, b"1")
    got(site.vfs.opendir(ME, TOP))
    first = got(site.vfs.readdir(TOP, 0, 2))
    clock.now += 2
    assert len(site.names("")) == 6
    node = site.open("e", 2)
    site.put(node, b"12")
    got(site.vfs.fsync(node, data_only=False))
    clock.now += moment
    rest = got(site.vfs.readdir(TOP, first[-1].place, 100))
    assert [each.name for each in rest] == [b"c", b"d", b"e", b"f"]
    site.put(node, b"123")
    site.close(node)
    assert store.fetch("e", limit=9)[1] == b"123"


def test_a_file_that_is_changed_all_the_time_is_told_as_it_is_here(
    site: Site, store: Late, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.put("f", b"1")
    node = site.open("f", 2)
    stat = store.stat
    sizes = [2]

    def amid(path: str) -> Entry:
        found = stat(path)
        if path == "f":
            sizes.append(sizes[-1] + 1)
            site.put(node, b"x" * sizes[-1])
            got(site.vfs.fsync(node, data_only=False))
        return found

    site.put(node, b"12")
    got(site.vfs.fsync(node, data_only=False))
    monkeypatch.setattr(store, "stat", amid)
    assert site.size("f") == sizes[-1]
    site.close(node)
