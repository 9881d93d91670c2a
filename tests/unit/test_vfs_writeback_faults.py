"""What was closed is not lost when something else fails: removing it, the local disk, the process before."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from pf_backends.errors import unreachable
from pf_fuse.staging.notes import Notes
from pf_fuse.staging.renaming import Move
from pf_fuse.staging.staged import Print
from pf_fuse.staging.uploading import print_of
from pf_fuse.vfs import owing, settling
from pf_fuse.vfs.nodes import Node
from pf_fuse.vfs.settling import Settling
from support.refused_removals import Refusal
from support.vfs_site import ME, PATIENCE, fails, got
from support.waiting import wait_until
from support.writeback import Make, Store, owed, processes

PASSING = (
    errno.EAGAIN,
    errno.EBUSY,
    errno.ECONNRESET,
    errno.EHOSTUNREACH,
    errno.EINTR,
    errno.EIO,
    errno.EMFILE,
    errno.ENETUNREACH,
    errno.ENFILE,
    errno.ENOMEM,
    errno.EPIPE,
    errno.ESTALE,
    errno.ETIMEDOUT,
)
"""What a machine, or the way to the store, lacks for a while."""


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def make(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    yield from processes(store, tmp_path, monkeypatch)


def test_what_could_not_be_removed_is_uploaded_though_it_was_its_turn_amid_that(
    make: Make, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = make()
    site.write("f", b"some")
    removal = Refusal(store)
    removed = site.vfs.unlink(ME, *site.place("f"))
    assert removal.asked.wait(PATIENCE)
    asked, turns = store.asked, counted_turns(monkeypatch)
    wait_until(lambda: len(turns) > 1)
    assert store.asked == asked
    removal.goes_on.set()
    with fails(errno.EACCES):
        got(removed)
    store.silent = False
    wait_until(lambda: store.has("f") == b"some")
    wait_until(lambda: owed(site).files == 0)


def counted_turns(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One more for each time that it is a file's turn to be uploaded."""
    turns, begun = list[int](), Settling.begun

    def count(self: Settling, node: Node) -> Callable[[], object]:
        turns.append(node.id)
        return begun(self, node)

    monkeypatch.setattr(Settling, "begun", count)
    return turns


def test_what_is_closed_while_somebody_fails_to_remove_it_is_uploaded(make: Make, store: Store) -> None:
    site = make()
    node = site.create("f")
    site.put(node, b"some")
    removal = Refusal(store)
    removed = site.vfs.unlink(ME, *site.place("f"))
    assert removal.asked.wait(PATIENCE)
    site.close(node)
    removal.goes_on.set()
    with fails(errno.EACCES):
        got(removed)
    store.silent = False
    wait_until(lambda: store.has("f") == b"some")


def test_what_a_process_has_left_is_owed_once_though_it_was_closed_again_before(make: Make, store: Store) -> None:
    before = make()
    before.write("f", b"some")
    wait_until(lambda: "no answer" in owed(before).why)
    site = make()
    wait_until(lambda: "no answer" in owed(site).why)
    site.upload_left()
    node = site.open("f", os.O_WRONLY)
    site.put(node, b"more", 4)
    site.close(node)
    store.silent = False
    wait_until(lambda: store.has("f") == b"somemore")


def test_what_lies_apart_from_a_folder_that_is_renamed_is_tried_again_meanwhile(
    make: Make, store: Store, tmp_path: Path
) -> None:
    store.silent = False
    store.put("d/0", b"0")
    store.silent = True
    make().write("f", b"some")
    go_on = threading.Event()
    Notes(tmp_path / "moves", Move, lambda: "note").write(Move("d", "e"))

    def answer(operation: str, path: str) -> None:
        if operation == "copy":
            assert go_on.wait(PATIENCE), path
        if operation == "put" and store.silent:
            raise unreachable(path, "no answer")

    store.before = answer
    site = make(resumed=False)
    wait_until(lambda: "no answer" in owed(site).why)
    site.write("g", b"other")
    store.silent = False
    wait_until(lambda: store.has("f") == b"some" and store.has("g") == b"other")
    go_on.set()
    wait_until(lambda: store.has("e/0") == b"0")


def test_a_disk_that_takes_no_more_journal_puts_nothing_aside_and_holds_up_nobody(
    make: Make, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.silent = False
    site = make()
    with monkeypatch.context() as full:
        fill_amid(full, lambda: threading.current_thread().name.startswith("pay"))
        site.write("f", b"some")
        wait_until(lambda: "No space" in owed(site).why)
    wait_until(lambda: store.has("f") == b"some")
    wait_until(lambda: owed(site).files == 0)
    assert not (tmp_path / "aside").exists()
    assert owed(site).refused == 0
    site.write("f", b"again")
    wait_until(lambda: store.has("f") == b"again")


@pytest.mark.parametrize("resumed", [True, False])
def test_a_process_begins_on_a_full_disk_and_goes_on_when_there_is_room(
    make: Make, store: Store, monkeypatch: pytest.MonkeyPatch, resumed: bool
) -> None:
    before = make()
    before.write("f", b"some")
    before.open("f")
    with monkeypatch.context() as full:
        fill_amid(full, lambda: True)
        make(resumed=resumed)
    site = make()
    assert site.read("f") == b"some"
    store.silent = False
    wait_until(lambda: store.has("f") == b"some")
    site.write("g", b"other")
    wait_until(lambda: owed(site).files == 0)
    assert make().read("g") == b"other"


def failing_once(failure: Exception) -> Callable[[str, str], None]:
    """The first time that something is put fails so."""
    failures = iter([failure])

    def fail_once(operation: str, _path: str) -> None:
        if operation == "put" and (failed := next(failures, None)):
            raise failed

    return fail_once


@pytest.mark.parametrize("number", PASSING, ids=errno.errorcode.get)
def test_what_passes_puts_nothing_aside(make: Make, store: Store, tmp_path: Path, number: int) -> None:
    store.before = failing_once(OSError(number, os.strerror(number)))
    site = make()
    site.write("f", b"some")
    wait_until(lambda: store.has("f") == b"some")
    wait_until(lambda: owed(site).files == 0)
    assert not (tmp_path / "aside").exists()


def test_a_fault_of_one_attempt_has_it_tried_again(make: Make, store: Store) -> None:
    store.before = failing_once(RuntimeError("can't start new thread"))
    site = make()
    site.write("f", b"some")
    wait_until(lambda: store.has("f") == b"some")
    wait_until(lambda: owed(site).files == 0)


def test_a_fault_of_who_tries_again_does_not_end_that(
    make: Make, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    make().write("f", b"some")
    faults, submit = [RuntimeError("can't start new thread")], ThreadPoolExecutor.submit

    def fail_once(pool: ThreadPoolExecutor, *work: Any) -> Future[Any]:
        if threading.current_thread().name == "owe" and faults:
            raise faults.pop()
        return submit(pool, *work)

    monkeypatch.setattr(ThreadPoolExecutor, "submit", fail_once)
    wait_until(lambda: not faults)
    store.silent = False
    wait_until(lambda: store.has("f") == b"some")


def fill_amid(monkeypatch: pytest.MonkeyPatch, full: Callable[[], bool]) -> None:
    """The disk is full for some."""
    write = os.write

    def refuse(descriptor: int, data: bytes) -> int:
        if full():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(descriptor, data)

    monkeypatch.setattr(os, "write", refuse)


def test_a_file_that_cannot_be_read_back_for_its_print_is_tried_again(
    make: Make, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = make()
    with monkeypatch.context() as broken:
        broken.setattr(os, "preadv", fail_to_read)
        site.write("f", b"some")
        wait_until(lambda: "Input/output" in owed(site).why)
    store.silent = False
    wait_until(lambda: store.has("f") == b"some")
    assert not (tmp_path / "aside").exists()


def fail_to_read(*_: object) -> int:
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def test_a_file_is_read_for_its_print_once_however_often_it_is_tried(
    make: Make, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    printed = list[int]()

    def count(descriptor: int, size: int) -> Print:
        printed.append(size)
        return print_of(descriptor, size)

    monkeypatch.setattr(settling, "print_of", count)
    site = make()
    site.write("f", b"some")
    wait_until(lambda: store.asked > 3)
    assert len(printed) == 1


def test_what_comes_after_an_upload_that_was_late_is_not_late_itself(make: Make, store: Store) -> None:
    site = make()
    site.write("f", b"first")
    amid, go_on = threading.Event(), threading.Event()

    def wait(operation: str, path: str) -> None:
        if operation == "put" and amid.is_set():
            raise unreachable(path, "no answer")
        if operation == "put":
            amid.set()
            assert go_on.wait(PATIENCE), path

    wait_until(lambda: store.asked > 3)
    store.before = wait
    assert amid.wait(PATIENCE)
    age = owed(site).age
    with site.opening("f", os.O_WRONLY) as node:
        written = site.vfs.write(node, 0, memoryview(b"other"), 0)
        # Another one closes it, who has written nothing.
        site.close(site.open("f", os.O_WRONLY))
        go_on.set()
        assert got(written) == 5
    wait_until(lambda: "no answer" in owed(site).why and owed(site).files == 1 and owed(site).age < age)


def test_the_end_of_the_mount_leaves_to_the_next_what_nobody_takes_for_too_long(
    make: Make, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owing, "_LEAVING", 0.3)
    site = make()
    for number in range(12):
        site.write(f"f{number}", b"some")
    site.vfs.end()
    make(resumed=False)
    store.silent = False
    wait_until(lambda: all(store.has(f"f{number}") == b"some" for number in range(12)))


def test_who_closes_a_file_goes_on_when_its_bytes_and_its_name_and_then_the_note_are_synced(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site, synced = make(), list[str]()
    node = site.create("f")
    site.put(node, b"some")
    for name in ("fsync", "fdatasync"):
        monkeypatch.setattr(os, name, recorded(getattr(os, name), synced))
    got(site.vfs.flush(node, 1))
    (staged,) = (tmp_path / "stage").iterdir()
    assert synced == [str(staged), str(tmp_path / "stage"), str(tmp_path / "nodes")]
    site.put(node, b"more", 4)
    site.close(node)
    # Its name is there since.
    assert synced[3:] == [str(staged), str(tmp_path / "nodes")]


def recorded(sync: Callable[[int], None], into: list[str]) -> Callable[[int], None]:
    def record(descriptor: int) -> None:
        sync(descriptor)
        into.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))

    return record


def test_what_was_stored_is_not_put_aside_when_the_store_says_it_is_there_and_then_nothing(
    make: Make, store: Store, tmp_path: Path
) -> None:
    store.silent = False
    store.put("f", b"some")
    site, asked = make(), list[str]()
    store.goes_on.set()
    answers = store.before

    def answer(operation: str, path: str) -> None:
        if operation == "stat":
            asked.append(path)
            raise unreachable(path, "keys have expired")

    node = site.open("f", os.O_WRONLY)
    site.put(node, b"more", 4)
    store.before, store.deaf = answer, True
    site.close(node)
    wait_until(lambda: len(asked) > 1)
    assert "expired" in owed(site).why
    store.before, store.deaf = answers, False
    wait_until(lambda: owed(site).files == 0)
    assert store.has("f") == b"somemore"
    assert not any((tmp_path / "aside").glob("*"))


@pytest.mark.parametrize("opened", [True, False], ids=["open", "closed"])
def test_what_is_cut_while_the_store_is_away_is_uploaded_like_what_was_closed(
    make: Make, store: Store, tmp_path: Path, opened: bool
) -> None:
    site = make()
    site.write("f", b"promised")
    node = site.open("f") if opened else 0
    site.truncate("f", 4)
    assert (site.size("f"), owed(site).files) == (4, 1)
    store.silent = False
    wait_until(lambda: store.has("f") == b"prom")
    wait_until(lambda: owed(site).files == 0)
    if opened:
        site.close(node)
    assert not (tmp_path / "aside").exists()
    assert not list((tmp_path / "stage").iterdir())
