"""Small files that processes of their own bring into a cache, and what becomes of them when those do not do well."""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import msgspec
import psutil
import pytest

from paddleflow.mounting import MountOptions
from pf_backends.entries import Entry, Kind
from pf_backends.opening import open_backend
from pf_backends.port import Backend
from pf_fuse.coming import Coming
from pf_fuse.opening import opened, page_cache
from pf_fuse.pages.cache import PageCache
from pf_fuse.pages.keys import Key
from pf_fuse.porters.team import Team
from pf_fuse.settings import CacheSettings, CarrySettings, LinkSettings, SourceSettings
from support.mounts import new_mount
from support.s3_servers import S3Server, place_in
from support.stacks import wait_until

PATIENCE = 20.0


class Listener:
    """Hears what porters say by a thread of its own."""

    def __init__(self) -> None:
        self._poll = select.epoll()
        self._heard: dict[int, Callable[[], None]] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def watch(self, descriptor: int, heard: Callable[[], None]) -> None:
        self._heard[descriptor] = heard
        heard()
        # Whoever has hung up at once is watched no more.
        if descriptor in self._heard:
            self._poll.register(descriptor, select.EPOLLIN)

    def unwatch(self, descriptor: int) -> None:
        del self._heard[descriptor]
        with suppress(FileNotFoundError):
            self._poll.unregister(descriptor)

    def end(self) -> None:
        """Once all have hung up, since nobody else hears that."""
        wait_until(lambda: not self._heard)
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.is_set():
            self._hear(0.1)

    def _hear(self, patience: float) -> None:
        for descriptor, _ in self._poll.poll(patience):
            self._heard[descriptor]()


@pytest.fixture
def listener() -> Iterator[Listener]:
    listener = Listener()
    yield listener
    listener.end()


@pytest.fixture
def source(seaweed_server: S3Server, tmp_path: Path) -> SourceSettings:
    url, properties = place_in(seaweed_server, f"porters-{uuid4().hex[:8]}")
    return SourceSettings(url, CacheSettings([tmp_path / "cache"]), properties)


@pytest.fixture
def backend(source: SourceSettings) -> Iterator[Backend]:
    backend = open_backend(source.url, source.properties)
    yield backend
    backend.close()


@pytest.fixture
def cache(source: SourceSettings) -> Iterator[PageCache]:
    cache = page_cache(source.cache)
    yield cache
    cache.end()


@pytest.fixture
def team(source: SourceSettings, backend: Backend, cache: PageCache, listener: Listener) -> Iterator[Team]:
    team = Team(CarrySettings(source), backend.address, cache, 1)
    team.begin(listener)
    yield team
    team.end()
    wait_until(lambda: not porters())


def porters() -> list[psutil.Process]:
    """Those that were begun here and are not gone."""
    return [each for each in psutil.Process().children() if "carry" in line_of(each)]


def line_of(process: psutil.Process) -> list[str]:
    with suppress(psutil.NoSuchProcess):
        return process.cmdline()
    return []


def carried(team: Team, entry: Entry) -> Coming:
    """A file on its way, once there is a porter."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        if coming := team.carry(entry):
            return coming
        time.sleep(0.001)
    raise AssertionError("nobody brings it")


def cached_bytes(source: SourceSettings) -> list[Path]:
    (folder,) = source.cache.folders
    return [each for each in sorted(Path(folder).glob("pages.1/*/*")) if each.is_file()]


def content(cache: PageCache, backend: Backend, entry: Entry) -> bytes | None:
    file = cache.open(Key(backend.address, entry.path, entry.version), entry.size)
    try:
        return file.read(0, entry.size)
    finally:
        cache.close(file)


def test_what_an_earlier_process_has_left_is_checked_and_not_fetched_again(
    team: Team, source: SourceSettings, backend: Backend, listener: Listener
) -> None:
    bodies = {f"f{number}": os.urandom(150_000) for number in range(20)}
    entries = [backend.put(name, body) for name, body in bodies.items()]
    for entry in entries:
        assert carried(team, entry).found.result(PATIENCE)
    (damaged,) = [path for path in cached_bytes(source) if path.read_bytes() == bodies["f7"]]
    with damaged.open("r+b") as file:
        file.seek(140_000)
        file.write(b"another")
    asked = team.counts.requests
    later = page_cache(source.cache)
    another = Team(CarrySettings(source), backend.address, later, 1)
    another.begin(listener)
    try:
        for entry in entries:
            carried(another, entry).found.result(PATIENCE)
            key = Key(backend.address, entry.path, entry.version)
            assert later.at_hand(key, entry.size) == (entry.path != "f7")
    finally:
        another.end()
        later.end()
    assert (asked, another.counts.requests) == (20, 0)


def test_files_are_in_the_cache_when_they_have_come(team: Team, backend: Backend, cache: PageCache) -> None:
    bodies = {f"f {number} é": os.urandom(100 + number * 3000) for number in range(100)}
    entries = [backend.put(name, body) for name, body in bodies.items()]
    coming = [carried(team, entry) for entry in entries]
    for entry, each in zip(entries, coming, strict=True):
        found = each.found.result(PATIENCE)
        assert found
        assert (found.path, found.size, found.version, found.kind) == (*told(entry), Kind.FILE)
        assert cache.at_hand(Key(backend.address, entry.path, entry.version), entry.size)
        assert content(cache, backend, entry) == bodies[entry.path]
        assert team.carry(entry) is None, "it is here"
    cache.look()
    assert cache.stats().folders[0].files == 100
    assert cache.check().removed == 0


def told(entry: Entry) -> tuple[str, int, str]:
    return entry.path, entry.size, entry.version


def test_several_folders_are_filled_as_the_mount_says(
    source: SourceSettings, backend: Backend, listener: Listener, tmp_path: Path
) -> None:
    wide = msgspec.structs.replace(source, cache=CacheSettings([tmp_path / "one", tmp_path / "two"], size=64 << 20))
    cache = page_cache(wide.cache)
    team = Team(CarrySettings(wide), backend.address, cache, 1)
    team.begin(listener)
    try:
        entries = [backend.put(f"{number}", b"%d" % number) for number in range(40)]
        for entry in entries:
            assert carried(team, entry).found.result(PATIENCE)
            assert cache.at_hand(Key(backend.address, entry.path, entry.version), entry.size)
        cache.look()
        held = [folder.files for folder in cache.stats().folders]
        assert sum(held) == len(entries)
        assert all(held)
    finally:
        team.end()
        cache.end()


def test_files_of_linked_places_come_too(
    source: SourceSettings, seaweed_server: S3Server, listener: Listener, tmp_path: Path
) -> None:
    url, properties = place_in(seaweed_server, f"porters-{uuid4().hex[:8]}")
    linked = msgspec.structs.replace(source, links=[LinkSettings("other", url, properties)])
    backend, cache = opened(linked.url, linked.properties, linked.links, read_only=False), page_cache(source.cache)
    team = Team(CarrySettings(linked), backend.address, cache, 1)
    team.begin(listener)
    try:
        for name in ("own", "other/theirs"):
            entry = backend.put(name, name.encode())
            found = carried(team, entry).found.result(PATIENCE)
            assert found
            assert told(found) == told(entry)
            assert content(cache, backend, entry) == name.encode()
    finally:
        team.end()
        backend.close()
        cache.end()


@pytest.mark.timeout(120)
def test_a_mount_whose_porters_are_killed_reads_right(source: SourceSettings, backend: Backend) -> None:
    killed, done = 0, threading.Event()

    def kill() -> None:
        nonlocal killed
        while not done.wait(0.05):
            for each in mount.stats()["porters"]:
                with suppress(ProcessLookupError):
                    os.kill(each["id"], signal.SIGKILL)
                    killed += 1

    with new_mount() as mount, ThreadPoolExecutor(9) as threads:
        mount.begin(source.url, source.properties, MountOptions(more={"porters": 2}))
        killing = threads.submit(kill)
        until = time.monotonic() + 2 * PATIENCE
        try:
            while killed < 3 and time.monotonic() < until:
                folder = f"d{time.monotonic_ns()}"
                bodies = {f"{folder}/{number}": os.urandom(20_000 + number) for number in range(150)}
                list(threads.map(backend.put, bodies, bodies.values()))
                # What others store is seen within a second.
                wait_until((mount.place / folder).is_dir)
                found = threads.map(lambda name: (mount.place / name).read_bytes(), bodies)
                assert [name for name, body in zip(bodies, found, strict=True) if body != bodies[name]] == []
        finally:
            done.set()
        killing.result()
        mount.end()
    assert killed >= 3


def test_what_is_not_there_any_more_is_to_be_found_out_in_another_way(team: Team, backend: Backend) -> None:
    gone, other = backend.put("gone", b"1"), backend.put("other", b"2")
    backend.remove("gone")
    backend.put("other", b"3")
    for entry in (gone, other, replace(other, path="never")):
        assert carried(team, entry).found.result(PATIENCE) is None


def test_a_porter_that_is_killed_loses_nothing_and_another_one_comes(
    team: Team, backend: Backend, cache: PageCache
) -> None:
    entries = [backend.put(f"{number}", b"%d" % number * 30_000) for number in range(200)]
    carried(team, entries[0]).found.result(PATIENCE)
    coming = [(entry, team.carry(entry)) for entry in entries[1:100]]
    for porter in porters():
        porter.send_signal(signal.SIGKILL)
    for entry, each in coming:
        found = each.found.result(PATIENCE) if each else None
        assert found is None or content(cache, backend, entry) == b"%d" % int(entry.path) * 30_000
    wait_until(lambda: not porters())
    for entry in entries[100:]:
        assert carried(team, entry).found.result(PATIENCE)
    # The one it was writing has no seals: it counts as not there.
    assert cache.check().removed <= 1
    for entry in entries[100:]:
        assert content(cache, backend, entry) == b"%d" % int(entry.path) * 30_000


def test_a_backend_that_says_no_is_heard(
    source: SourceSettings, cache: PageCache, backend: Backend, listener: Listener
) -> None:
    entry = backend.put("f", b"1")
    wrong = {**source.properties, "secretKey": "another"}
    team = Team(CarrySettings(SourceSettings(source.url, source.cache, wrong)), backend.address, cache, 1)
    team.begin(listener)
    try:
        with pytest.raises(PermissionError):
            carried(team, entry).found.result(PATIENCE)
    finally:
        team.end()


def test_nobody_waits_long_for_a_porter_that_hangs(
    source: SourceSettings, cache: PageCache, backend: Backend, listener: Listener
) -> None:
    entries = [backend.put(f"{number}", b"1") for number in range(3)]
    team = Team(CarrySettings(source), backend.address, cache, 1, patience=2.0)
    team.begin(listener)
    try:
        carried(team, entries[0]).found.result(PATIENCE)
        hanging, *_ = porters()
        hanging.suspend()
        coming = team.carry(entries[1])
        assert coming
        until = time.monotonic() + 4
        while time.monotonic() < until:
            # Who goes on giving it orders keeps it no longer than who does not.
            team.carry(entries[2])
            time.sleep(0.1)
        assert coming.found.result(PATIENCE) is None, "it is to be asked for in another way"
        wait_until(lambda: hanging not in porters())
        assert carried(team, entries[1]).found.result(PATIENCE)
    finally:
        team.end()
    assert team.carry(entries[2]) is None


def test_no_secret_is_in_sight(team: Team, backend: Backend, source: SourceSettings) -> None:
    carried(team, backend.put("f", b"1")).found.result(PATIENCE)
    (porter,) = porters()
    seen = " ".join([*porter.cmdline(), *porter.environ().values()])
    assert source.properties["secretKey"] not in seen
    assert source.url not in seen


def test_a_porter_ends_with_whoever_has_begun_it(
    source: SourceSettings, backend: Backend, cache: PageCache, listener: Listener
) -> None:
    team = Team(CarrySettings(source), backend.address, cache, 1)
    team.begin(listener)
    carried(team, backend.put("f", b"1")).found.result(PATIENCE)
    (porter,) = porters()
    team.end()
    wait_until(lambda: not porter.is_running())
