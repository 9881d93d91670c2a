"""What becomes of files that several have open when they cannot be uploaded, and what is counted meanwhile."""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from pf_backends.errors import unreachable
from pf_backends.memory.backend import LIKE_OBJECTS, MemoryBackend
from pf_fuse.vfs import crowds, tree
from pf_fuse.vfs.freshness import Freshness
from support.refused_removals import Refusal
from support.vfs_site import ME, PATIENCE, Site, StraightContent, fails, got
from support.waiting import wait_until


@pytest.fixture
def backend() -> MemoryBackend:
    return MemoryBackend(capabilities=LIKE_OBJECTS)


@pytest.fixture
def site(backend: MemoryBackend, tmp_path: Path) -> Iterator[Site]:
    site = Site(backend, tmp_path)
    yield site
    site.die()


class Polite:
    """A lock whose holder lets others take it next."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()
        time.sleep(0.005)


def test_what_two_close_at_once_and_cannot_be_uploaded_is_put_aside(
    backend: MemoryBackend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree, "RLock", Polite)
    site = Site(backend, tmp_path)
    node = site.create("new")
    assert site.open("new", os.O_RDWR) == node
    site.put(node, b"some")
    staged = site.nodes[node].staged
    assert staged

    def fail_when_both_wait(operation: str, _path: str) -> None:
        if operation == "put":
            upload = staged.upload
            wait_until(lambda: upload is None or bool(upload._condition._waiters))  # type: ignore[attr-defined]  # noqa: SLF001
            raise OSError(errno.EIO, "the wire is cut")

    backend.before = fail_when_both_wait
    with ThreadPoolExecutor(2) as closers:
        closing = [closers.submit(lambda: got(site.vfs.release(node, 0, 1))) for _ in range(2)]
    assert all(each.exception() for each in closing)
    (kept,) = (tmp_path / "aside").iterdir()
    assert kept.read_bytes() == b"some"


def test_what_is_changed_by_name_and_cannot_be_uploaded_stays_with_who_has_it_open(
    site: Site, backend: MemoryBackend, tmp_path: Path
) -> None:
    node = site.create("new", os.O_RDWR)
    site.put(node, b"some")

    def fail(operation: str, _path: str) -> None:
        if operation == "put":
            raise OSError(errno.EIO, "the wire is cut")

    backend.before = fail
    with suppress(OSError):
        site.truncate("new", 2)
    assert not (tmp_path / "aside").exists()
    backend.before = lambda *_: None
    site.close(node)
    assert backend.fetch("new", limit=10)[1] == b"so"


@pytest.mark.parametrize("asks", ["flush", "fsync", "release"])
def test_what_is_closed_while_somebody_fails_to_remove_it_is_uploaded(
    site: Site, backend: MemoryBackend, asks: str
) -> None:
    node = site.create("f")
    site.put(node, b"some")
    removal = Refusal(backend)
    removed = site.vfs.unlink(ME, *site.place("f"))
    assert removal.asked.wait(PATIENCE)
    about = {"flush": (1,), "fsync": (False,), "release": (0, 1)}[asks]
    asked = getattr(site.vfs, asks)(node, *about)
    removal.goes_on.set()
    with fails(errno.EACCES):
        got(removed)
    got(asked)
    assert backend.fetch("f", limit=10)[1] == b"some"
    assert site.read("f") == b"some"


def test_all_is_stored_only_when_what_somebody_fails_to_remove_is(site: Site, backend: MemoryBackend) -> None:
    site.put(site.create("f"), b"some")
    removal = Refusal(backend)
    removed = site.vfs.unlink(ME, *site.place("f"))
    assert removal.asked.wait(PATIENCE)
    with ThreadPoolExecutor(1) as finisher:
        finished = finisher.submit(site.vfs.sync)
        removal.goes_on.set()
        finished.result(PATIENCE)
    with fails(errno.EACCES):
        got(removed)
    assert backend.fetch("f", limit=10)[1] == b"some"


def test_what_is_closed_while_somebody_removes_it_is_not_stored(
    site: Site, backend: MemoryBackend, tmp_path: Path
) -> None:
    node, amid, goes_on = site.create("f"), threading.Event(), threading.Event()
    site.put(node, b"some")

    def wait(operation: str, path: str) -> None:
        if operation == "remove":
            amid.set()
            assert goes_on.wait(PATIENCE), path

    backend.before = wait
    removed = site.vfs.unlink(ME, *site.place("f"))
    assert amid.wait(PATIENCE)
    with ThreadPoolExecutor(1) as closer:
        closed = closer.submit(site.close, node)
        goes_on.set()
        closed.result(PATIENCE)
    got(removed)
    with pytest.raises(FileNotFoundError):
        backend.stat("f")
    assert not list((tmp_path / "stage").iterdir())


def test_what_the_kernel_forgets_while_somebody_fails_to_remove_it_is_uploaded(
    site: Site, backend: MemoryBackend, tmp_path: Path
) -> None:
    site.put(site.create("f"), b"some")
    site.die()
    tried = threading.Event()

    def refuse(operation: str, path: str) -> None:
        if operation == "put":
            tried.set()
            raise unreachable(path, "no answer")

    backend.before = refuse
    after = Site(backend, tmp_path, resumed=False)
    assert tried.wait(PATIENCE)
    node = after.node("f")
    backend.before = lambda *_: None
    removal = Refusal(backend)
    removed = after.vfs.unlink(ME, *after.place("f"))
    assert removal.asked.wait(PATIENCE)
    after.vfs.forget([(node, 3)])
    removal.goes_on.set()
    with fails(errno.EACCES):
        got(removed)
    wait_until(lambda: after.read("f") == b"some")
    after.die()
    assert backend.fetch("f", limit=10)[1] == b"some"


def test_folders_of_which_names_were_asked_are_not_counted_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crowds, "_MOST", 5)
    counted = crowds.Crowds(Freshness())
    for folder in range(20):
        assert not counted.asked(folder, 0.0)
    assert len(counted._asked) <= 6  # noqa: SLF001


def test_others_go_on_while_it_is_looked_whether_what_goes_is_here(
    site: Site, backend: MemoryBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend.put("f", b"some")
    node = site.open("f")
    free = list[bool]()

    def go_on() -> bool:
        if not site.tree.lock.acquire(timeout=10):
            return False
        site.tree.lock.release()
        return True

    def whole(_content: StraightContent) -> None:
        with ThreadPoolExecutor(1) as other:
            free.append(other.submit(go_on).result())

    monkeypatch.setattr(StraightContent, "whole", whole)
    site.remove("f")
    assert free == [True]
    assert site.bytes_of(node) == b"some"


def test_what_is_put_aside_is_called_as_it_was(site: Site, backend: MemoryBackend, tmp_path: Path) -> None:
    def fail(operation: str, _path: str) -> None:
        if operation == "put":
            raise OSError(errno.EIO, "the wire is cut")

    backend.before = fail
    for name, body in (("new", b"one"), ("new", b"other"), ("n" * 255, b"more")):
        node = site.create(name)
        site.put(node, body)
        with pytest.raises(OSError, match="wire is cut"):
            site.close(node)
    aside = tmp_path / "aside"
    kept = {path.name: path.read_bytes() for path in aside.iterdir()}
    assert kept == {"new": b"one", "new.1": b"other", "n" * 240: b"more"}
