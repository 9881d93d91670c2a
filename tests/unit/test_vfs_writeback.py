"""With write-back, whoever closes a file waits for the disk only, and the backend has it later, whatever happens."""

from __future__ import annotations

import errno
import os
import random
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pf_backends.errors import failure, unreachable
from pf_fuse.operations import Changes
from pf_fuse.vfs.owing import Bounds
from support.vfs_site import ME, PATIENCE, Site, fails, got
from support.waiting import wait_until
from support.writeback import Make, Store, owed, processes


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def make(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    yield from processes(store, tmp_path, monkeypatch)


def test_a_file_is_closed_at_once_and_read_here_and_uploaded_when_the_store_answers(make: Make, store: Store) -> None:
    site = make()
    site.write("f", b"hello")
    assert site.read("f") == b"hello"
    assert site.size("f") == 5
    assert site.names("") == ["f"]
    assert store.has("f") is None
    wait_until(lambda: "no answer" in owed(site).why)
    assert (owed(site).files, owed(site).bytes) == (1, 5)
    store.silent = False
    wait_until(lambda: store.has("f") == b"hello")
    wait_until(lambda: owed(site).files == 0)
    assert site.read("f") == b"hello"


@pytest.mark.parametrize("resumed", [True, False])
def test_what_was_closed_before_a_process_was_killed_is_uploaded_by_the_next(
    make: Make, store: Store, resumed: bool
) -> None:
    before = make()
    for number in range(20):
        before.write(f"f{number}", b"%d" % number)
    before.write("f3", b"another")
    before.remove("f4")
    site = make(resumed=resumed)
    assert site.read("f3") == b"another"
    store.silent = False
    wait_until(lambda: store.has("f19") == b"19")
    wait_until(lambda: owed(site).files == 0)
    assert [store.has(f"f{number}") for number in range(3, 6)] == [b"another", None, b"5"]


def test_what_is_flushed_and_still_open_is_uploaded_by_the_next_process(make: Make, store: Store) -> None:
    before = make()
    node, other = before.create("flushed"), before.create("not flushed")
    before.put(node, b"some")
    before.put(other, b"some")
    got(before.vfs.flush(node, 1))
    site = make()
    store.silent = False
    wait_until(lambda: store.has("flushed") == b"some")
    assert store.has("not flushed") is None
    site.put(node, b"more", 4)
    site.close(node)
    wait_until(lambda: store.has("flushed") == b"somemore")


def test_a_sync_waits_for_the_upload(make: Make, store: Store) -> None:
    site = make()
    node = site.create("f")
    site.put(node, b"some")
    with fails(errno.EIO):
        got(site.vfs.fsync(node, False))
    store.silent = False
    got(site.vfs.fsync(node, False))
    assert store.has("f") == b"some"
    site.close(node)


@pytest.mark.parametrize("bounds", [Bounds(10, 300.0, 9), Bounds(1 << 30, 300.0, 1), Bounds(1 << 30, -1.0, 9)])
def test_beyond_the_bounds_whoever_closes_a_file_waits_and_is_told(make: Make, store: Store, bounds: Bounds) -> None:
    site = make(bounds)
    if bounds.age > 0:
        site.write("small", b"1234567")
    node = site.create("f")
    site.put(node, b"1234567")
    with fails(errno.EIO):
        got(site.vfs.flush(node, 1))
    store.silent = False
    got(site.vfs.flush(node, 1))
    assert store.has("f") == b"1234567"
    got(site.vfs.release(node, 0, 1))


def test_the_last_of_many_versions_is_what_is_uploaded(make: Make, store: Store) -> None:
    site = make()
    store.silent = False
    for number in range(200):
        site.write("f", b"%d" % number)
    wait_until(lambda: owed(site).files == 0)
    assert store.has("f") == b"199"
    assert store.asked <= 201


def test_who_writes_again_while_it_is_uploaded_loses_nothing(make: Make, store: Store) -> None:
    site, amid, go_on = make(), threading.Event(), threading.Event()

    def wait(operation: str, path: str) -> None:
        if operation == "put":
            amid.set()
            assert go_on.wait(PATIENCE), path

    store.before = wait
    site.write("f", b"first")
    assert amid.wait(PATIENCE)
    node = site.node("f")
    got(site.vfs.open(ME, node, os.O_WRONLY))
    written = site.vfs.write(node, 0, memoryview(b"other"), 0)
    go_on.set()
    assert got(written) == 5
    site.close(node)
    wait_until(lambda: store.has("f") == b"other")
    wait_until(lambda: owed(site).files == 0)


def test_what_is_set_and_renamed_and_removed_meanwhile_is_so(make: Make, store: Store) -> None:
    site = make()
    for name in ("set", "renamed", "removed"):
        site.write(name, name.encode())
    got(site.vfs.setattr(ME, site.node("set"), Changes(modified=1_000_000_000)))
    site.remove("removed")
    with fails(errno.EIO):
        site.rename("renamed", "new")
    store.silent = False
    site.rename("renamed", "new")
    wait_until(lambda: owed(site).files == 0)
    assert sorted(site.names("")) == ["new", "set"]
    assert [store.has(name) for name in ("set", "renamed", "new", "removed")] == [b"set", None, b"renamed", None]


def test_what_was_removed_before_the_process_was_killed_stays_removed(make: Make, store: Store) -> None:
    before = make()
    before.write("f", b"some")
    before.remove("f")
    site = make(resumed=False)
    store.silent = False
    site.write("g", b"other")
    wait_until(lambda: store.has("g") == b"other")
    wait_until(lambda: owed(site).files == 0)
    assert store.has("f") is None


def test_what_the_store_refuses_is_put_aside_and_told(make: Make, store: Store, tmp_path: Path) -> None:
    def refuse(operation: str, path: str) -> None:
        if operation == "put":
            raise failure(errno.EDQUOT, path, "full")

    store.before = refuse
    site = make()
    site.write("f", b"some")
    wait_until(lambda: owed(site).refused == 1)
    assert "full" in owed(site).why
    assert (tmp_path / "aside" / "f").read_bytes() == b"some"
    wait_until(lambda: owed(site).files == 0)
    with pytest.raises(FileNotFoundError):
        site.node("f")


def test_what_another_client_has_replaced_meanwhile_is_put_aside(make: Make, store: Store, tmp_path: Path) -> None:
    store.silent = False
    store.put("f", b"first")
    store.silent = True
    site = make()
    with site.opening("f", os.O_WRONLY) as node:
        site.put(node, b"ours.")
    store.silent = False
    store.put("f", b"theirs")
    wait_until(lambda: owed(site).refused == 1)
    assert (tmp_path / "aside" / "f").read_bytes() == b"ours."
    assert store.has("f") == b"theirs"


def test_what_has_no_name_any_more_is_put_aside(make: Make, store: Store, tmp_path: Path) -> None:
    """Another version bears it by now, also for whoever looks from here."""
    store.silent = False
    site = make()
    node = site.create("f")
    site.put(node, b"ours.")
    site.nodes.remove(site.nodes[node])
    site.close(node)
    wait_until(lambda: owed(site).refused == 1)
    assert (tmp_path / "aside" / "f").read_bytes() == b"ours."
    assert owed(site).files == 0


@pytest.mark.parametrize("killed", ["", "resumed", "anew"])
def test_what_comes_after_an_upload_whose_answer_got_lost_takes_its_place(
    make: Make, store: Store, tmp_path: Path, killed: str
) -> None:
    store.silent = False
    store.put("f", b"first")
    store.asked = 1
    store.silent = store.deaf = True
    store.goes_on.set()

    def hear_once(operation: str, path: str) -> None:
        store.asked += operation == "put"
        if operation == "put" and store.silent and store.asked > 2:
            raise unreachable(path, "no answer")

    store.before = hear_once
    site = make()
    for text in (b"other", b"third"):
        with site.opening("f", os.O_WRONLY) as node:
            site.put(node, text)
        wait_until(lambda: store.has("f") == b"other" and owed(site).why != "")
    before = store.asked
    wait_until(lambda: store.asked > before + 4)
    if killed:
        site = make(resumed=killed == "resumed")
    store.silent = store.deaf = False
    wait_until(lambda: store.has("f") == b"third")
    wait_until(lambda: owed(site).files == 0)
    assert not (tmp_path / "aside").exists()


@pytest.mark.parametrize("resumed", [True, False])
def test_who_writes_to_what_was_being_uploaded_when_the_process_was_killed_waits(
    make: Make, store: Store, tmp_path: Path, resumed: bool
) -> None:
    """The store has it, and the process before was not told."""
    store.silent = False
    store.put("f", b"first")
    store.deaf = True
    before, go_on = make(), threading.Event()
    with before.opening("f", os.O_WRONLY) as node:
        before.put(node, b"other")
    assert store.hangs.wait(PATIENCE)
    assert store.has("f") == b"other"
    store.deaf = False

    def wait(operation: str, path: str) -> None:
        if operation == "put":
            assert go_on.wait(PATIENCE), path

    store.before = wait
    site = make(resumed=resumed)
    node = site.open("f", os.O_WRONLY)
    written = site.vfs.write(node, 0, memoryview(b"third"), 0)
    go_on.set()
    assert got(written) == 5
    site.close(node)
    wait_until(lambda: store.has("f") == b"third")
    wait_until(lambda: owed(site).files == 0)
    assert not (tmp_path / "aside").exists()
    store.goes_on.set()


@pytest.mark.parametrize("seed", range(3))
def test_many_who_write_to_a_store_that_often_fails_lose_nothing(
    make: Make, store: Store, tmp_path: Path, seed: int
) -> None:
    """Each attempt may be stored or not, and be told or not; the process is replaced amid it."""
    store.silent = False
    chance = random.Random(seed)

    def fail_before(operation: str, path: str) -> None:
        store.deaf = operation == "put" and chance.random() < 0.3
        if operation == "put" and chance.random() < 0.2:
            raise unreachable(path, "no answer")

    store.goes_on.set()
    store.before = fail_before
    last, site = dict[str, bytes](), make()

    def write(name: str) -> None:
        for number in range(15):
            data = f"{name} {number}".encode()
            site.write(name, data) if number % 3 else write_over(site, name, data)
            last[name] = data

    for _ in range(2):
        with ThreadPoolExecutor(6) as pool:
            list(pool.map(write, "abcdef"))
        site = make(resumed=bool(seed % 2))
    store.before = lambda _operation, _path: setattr(store, "deaf", False)
    wait_until(lambda: {name: store.has(name) for name in last} == last, 30)
    wait_until(lambda: owed(site).files == 0)
    assert not (tmp_path / "aside").exists()


def write_over(site: Site, name: str, data: bytes) -> None:
    """As `open(name, "r+b")` does, so that the version counts that was there."""
    try:
        with site.opening(name, os.O_WRONLY) as node:
            site.put(node, data)
    except FileNotFoundError:
        site.write(name, data)


def test_the_end_of_the_mount_waits_for_all_of_it(make: Make, store: Store) -> None:
    site = make()
    for number in range(20):
        site.write(f"f{number}", b"some")
    ending = threading.Thread(target=site.vfs.end)
    ending.start()
    ending.join(0.3)
    assert ending.is_alive()
    store.silent = False
    ending.join(PATIENCE)
    assert not ending.is_alive()
    assert all(store.has(f"f{number}") == b"some" for number in range(20))


def test_the_end_of_the_mount_does_not_wait_for_what_failed_by_a_fault(make: Make, store: Store) -> None:
    def fail(operation: str, path: str) -> None:
        if operation == "put":
            store.hangs.set()
            raise ValueError(path)

    store.before = fail
    site = make()
    site.write("f", b"some")
    assert store.hangs.wait(PATIENCE)
    with pytest.raises(ValueError, match="f"):
        site.vfs.end()


def test_a_journal_that_ends_in_what_the_disk_lost_tells_what_comes_before(
    make: Make, store: Store, tmp_path: Path
) -> None:
    before = make()
    before.write("f", b"some")
    before.die()
    with (tmp_path / "nodes").open("ab") as journal:
        journal.write(bytes(4096))
    make(resumed=False)
    store.silent = False
    wait_until(lambda: store.has("f") == b"some")
