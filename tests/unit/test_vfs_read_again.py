"""Who could open a file reads it, whatever others do with it at the same moment."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pf_backends.entries import Entry, Facts
from pf_backends.local.backend import LocalBackend
from pf_backends.memory.backend import EVERYTHING, LIKE_OBJECTS, MemoryBackend
from pf_fuse.operations import Answer, Bytes, Changes
from support.refused_removals import Refusal
from support.vfs_site import ME, PATIENCE, Site, fails, got


class Pause:
    """Whoever begins an operation of a backend waits, once."""

    def __init__(self, backend: MemoryBackend, operation: str, path: str) -> None:
        self.met, self.go_on = threading.Event(), threading.Event()
        self._where = operation, path
        backend.before = self._wait

    def _wait(self, operation: str, path: str) -> None:
        if (operation, path) == self._where and not self.met.is_set():
            self.met.set()
            assert self.go_on.wait(PATIENCE)


class PauseAfter:
    """Whoever has removed things from a backend, one or many, waits."""

    def __init__(self, backend: MemoryBackend, monkeypatch: pytest.MonkeyPatch) -> None:
        self.met, self.go_on = threading.Event(), threading.Event()
        for name in ("remove", "remove_many"):
            monkeypatch.setattr(backend, name, partial(self._wait, getattr(backend, name)))

    def _wait(self, remove: Callable[..., object], *arguments: object, **conditions: object) -> object:
        removed = remove(*arguments, **conditions)
        self.met.set()
        assert self.go_on.wait(PATIENCE)
        return removed


@pytest.fixture(params=[EVERYTHING, LIKE_OBJECTS], ids=["folders", "objects"])
def backend(request: pytest.FixtureRequest) -> MemoryBackend:
    backend = MemoryBackend(capabilities=request.param)
    if backend.capabilities.folders:
        backend.make_folder("d")
    backend.put("d/f", b"some bytes")
    return backend


@pytest.fixture
def site(backend: MemoryBackend, tmp_path: Path) -> Iterator[Site]:
    site = Site(backend, tmp_path, clock=lambda: 100.0)
    yield site
    site.die()


def bytes_of(answer: Answer[Bytes]) -> bytes:
    return bytes(answer.result(PATIENCE) if isinstance(answer, Future) else answer)


NAMES = pytest.mark.parametrize(("old", "new"), [("d/f", "d/g"), ("d", "e")], ids=["file", "folder"])


@NAMES
def test_what_is_renamed_already_and_not_known_to_be_is_read(
    site: Site, backend: MemoryBackend, old: str, new: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = site.open("d/f")
    with suppress(FileNotFoundError):
        site.node(new)
    copies = not backend.capabilities.folders
    target = "d/f".replace(old, new)
    known = PauseAfter(backend, monkeypatch) if copies else Pause(backend, "stat", target)
    renamed = site.vfs.rename(ME, *site.place(old), *site.place(new), 0)
    assert known.met.wait(PATIENCE)
    reading = Pause(backend, "read", "d/f")
    read = site.vfs.read(node, 0, 10)
    assert reading.met.wait(PATIENCE)
    reading.go_on.set()
    known.go_on.set()
    assert bytes_of(read) == b"some bytes"
    got(renamed)


@NAMES
def test_what_is_renamed_while_it_is_read_is_read(site: Site, backend: MemoryBackend, old: str, new: str) -> None:
    node = site.open("d/f")
    reading = Pause(backend, "read", "d/f")
    read = site.vfs.read(node, 0, 10)
    assert reading.met.wait(PATIENCE)
    site.rename(old, new)
    reading.go_on.set()
    assert bytes_of(read) == b"some bytes"


OPENED = pytest.mark.parametrize("flags", [os.O_RDONLY, os.O_RDWR], ids=["to read", "to write"])


@OPENED
@pytest.mark.parametrize("by", ["removing", "replacing"])
def test_what_is_opened_while_it_goes_is_found_to_be_gone(
    site: Site, backend: MemoryBackend, by: str, flags: int
) -> None:
    backend.put("d/new", b"new")
    node = site.node("d/f")
    if by == "removing":
        goes = Pause(backend, "remove", "d/f")
        done = site.vfs.unlink(ME, *site.place("d/f"))
    else:
        goes = Pause(backend, "rename" if backend.capabilities.folders else "copy", "d/new")
        done = site.vfs.rename(ME, *site.place("d/new"), *site.place("d/f"), 0)
    assert goes.met.wait(PATIENCE)
    opened = site.vfs.open(ME, node, flags)
    assert not (isinstance(opened, Future) and opened.done())
    goes.go_on.set()
    with fails(errno.ESTALE):
        got(opened)
    got(done)
    assert node not in [each.id for each in site.nodes.all() if each.opens]


@OPENED
def test_what_is_opened_while_somebody_fails_to_remove_it_is_read(
    site: Site, backend: MemoryBackend, flags: int
) -> None:
    node, removal = site.node("d/f"), Refusal(backend)
    removed = site.vfs.unlink(ME, *site.place("d/f"))
    assert removal.asked.wait(PATIENCE)
    opened = site.vfs.open(ME, node, flags)
    removal.goes_on.set()
    with fails(errno.EACCES):
        got(removed)
    got(opened)
    assert site.bytes_of(node) == b"some bytes"
    site.close(node)


@OPENED
def test_what_is_opened_while_it_is_renamed_is_read(site: Site, backend: MemoryBackend, flags: int) -> None:
    node = site.node("d/f")
    renaming = Pause(backend, "rename" if backend.capabilities.folders else "copy", "d/f")
    renamed = site.vfs.rename(ME, *site.place("d/f"), *site.place("d/g"), 0)
    assert renaming.met.wait(PATIENCE)
    opened = site.vfs.open(ME, node, flags)
    renaming.go_on.set()
    got(renamed)
    got(opened)
    assert site.bytes_of(node) == b"some bytes"
    site.close(node)


@OPENED
def test_what_is_opened_while_somebody_sets_its_time_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: int
) -> None:
    (tmp_path / "folder").mkdir()
    store = LocalBackend(str(tmp_path / "folder"))
    store.put("f", b"some bytes")
    site = Site(store, tmp_path, clock=lambda: 100.0)
    node, set_facts = site.node("f"), store.set_facts

    def open_before(path: str, facts: Facts, **more: Any) -> Entry:
        got(site.vfs.open(ME, node, flags))
        return set_facts(path, facts, **more)

    monkeypatch.setattr(store, "set_facts", open_before)
    got(site.vfs.setattr(ME, node, Changes(modified=10**18)))
    assert site.bytes_of(node) == b"some bytes"
    site.close(node)
    site.die()
