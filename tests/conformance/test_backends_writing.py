"""What every backend promises of files that are written."""

from __future__ import annotations

import errno
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from pf_backends.entries import Condition
from pf_backends.errors import Changed, Unsupported
from pf_backends.port import Backend
from support.backend_places import content, listed, names, put_all, read

ABSENT = Condition(absent=True)


def raced(backend: Backend, path: str, condition: Condition) -> list[bool]:
    """Who of eight wrote, all at once and each something else."""
    start = threading.Barrier(8)

    def write(number: int) -> bool:
        start.wait()
        try:
            backend.put(path, str(number).encode() * 1000, condition=condition)
        except Changed:
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        return list(threads.map(write, range(8)))


def test_a_file_is_replaced(backend: Backend) -> None:
    first = backend.put("a", b"one")
    second = backend.put("a", b"two!")
    assert (second.size, content(backend, "a")) == (4, b"two!")
    assert first.version != second.version


def test_the_same_path_with_other_bytes_has_another_version(backend: Backend) -> None:
    versions = {backend.put("a", bytes([turn])).version for turn in range(20)}
    assert len(versions) == 20


def test_any_memory_can_be_written(backend: Backend) -> None:
    body = bytearray(b"0123456789")
    backend.put("a", memoryview(body)[2:5])
    assert content(backend, "a") == b"234"


def test_nobody_sees_half_a_file(backend: Backend) -> None:
    size, done = 300_000, threading.Event()
    backend.put("a", b"0" * size)

    def rewrite() -> None:
        for turn in range(1, 20):
            backend.put("a", str(turn % 10).encode() * size)
        done.set()

    writer = threading.Thread(target=rewrite)
    writer.start()
    try:
        while not done.is_set():
            body = content(backend, "a")
            assert (len(body), len(set(body))) == (size, 1)
    finally:
        writer.join()


def test_what_must_not_be_there_is_not_replaced(backend: Backend) -> None:
    first = backend.put("a", b"one", condition=ABSENT)
    with pytest.raises(Changed) as refused:
        backend.put("a", b"two", condition=ABSENT)
    assert refused.value.errno == errno.ESTALE
    assert content(backend, "a") == b"one"
    assert backend.stat("a").version == first.version


def test_only_the_version_that_is_meant_is_replaced(backend: Backend) -> None:
    first = backend.put("a", b"one")
    second = backend.put("a", b"two", condition=Condition(version=first.version))
    with pytest.raises(Changed):
        backend.put("a", b"three", condition=Condition(version=first.version))
    assert content(backend, "a") == b"two"
    backend.remove("a")
    with pytest.raises(Changed):
        backend.put("a", b"four", condition=Condition(version=second.version))
    assert listed(backend) == []


def test_only_the_version_that_is_meant_is_removed(backend: Backend) -> None:
    first = backend.put("a", b"one")
    second = backend.put("a", b"two")
    with pytest.raises(Changed):
        backend.remove("a", condition=Condition(version=first.version))
    backend.remove("a", condition=Condition(version=second.version))
    assert listed(backend) == []


@pytest.mark.parametrize("absent", [True, False], ids=["new", "version"])
def test_of_eight_who_write_at_once_one_wins(backend: Backend, absent: bool) -> None:
    if not backend.capabilities.conditional:
        return
    for turn in range(5):
        path = f"race-{turn}"
        condition = ABSENT if absent else Condition(version=backend.put(path, b"before").version)
        won = raced(backend, path, condition)
        assert won.count(True) == 1
        assert content(backend, path) == str(won.index(True)).encode() * 1000


def test_a_file_is_added_to_where_it_ends(backend: Backend) -> None:
    backend.put("a", b"one")
    if not backend.capabilities.appends:
        with pytest.raises(Unsupported):
            backend.append("a", b"two", offset=3)
        return
    assert backend.append("a", b"two", offset=3).size == 6
    with pytest.raises(Changed):
        backend.append("a", b"three", offset=3)
    assert content(backend, "a") == b"onetwo"
    assert backend.stat("a").version != backend.append("a", b"!", offset=6).version


def test_removed_files_are_gone(backend: Backend) -> None:
    backend.put("a", b"")
    backend.remove("a")
    with pytest.raises(FileNotFoundError):
        backend.stat("a")
    with pytest.raises(FileNotFoundError):
        backend.remove("a")


def test_many_are_removed_and_each_is_told_of(backend: Backend) -> None:
    put_all(backend, ["a", "b", "c", "d&<e>", "kept"])
    assert backend.remove_many(["a", "nothing", "c", "d&<e>"]) == [None] * 4
    assert names(listed(backend)) == ["b", "kept"]
    assert backend.remove_many([]) == []


def test_a_file_is_copied(backend: Backend) -> None:
    backend.put("a", b"one")
    backend.make_folder("f")
    if not backend.capabilities.copies:
        with pytest.raises(Unsupported):
            backend.copy("a", "f/b")
        return
    copied = backend.copy("a", "f/b")
    assert copied == backend.stat("f/b")
    with pytest.raises(FileNotFoundError):
        backend.copy("no", "f/c")
    assert (copied.size, content(backend, "f/b"), content(backend, "a")) == (3, b"one", b"one")
    with pytest.raises(Changed):
        backend.copy("a", "f/b", condition=ABSENT)
    backend.put("a", b"two")
    assert read(backend, "f/b", 0, 9) == b"one"
    assert backend.copy("a", "f/b", condition=Condition(version=copied.version)).version != copied.version
    assert content(backend, "f/b") == b"two"


def test_a_file_needs_its_folder_where_folders_are_things(backend: Backend) -> None:
    if not backend.capabilities.folders:
        backend.put("no/a", b"")
        assert backend.stat("no").path == "no"
        return
    with pytest.raises(FileNotFoundError):
        backend.put("no/a", b"")
    with pytest.raises(FileNotFoundError):
        backend.make_folder("no/f")
    backend.put("file", b"")
    with pytest.raises(NotADirectoryError):
        backend.put("file/a", b"")
    backend.make_folder("f")
    with pytest.raises(IsADirectoryError):
        backend.put("f", b"")
