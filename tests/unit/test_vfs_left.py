"""What a mount has left that was not uploaded, and of which the kernel of the next one knows nothing."""

from __future__ import annotations

import errno
import os
import threading
import time
from pathlib import Path

import msgspec
import pytest

from pf_backends.memory.backend import MemoryBackend
from support.vfs_site import ME, PATIENCE, Site, got


@pytest.fixture
def backend() -> MemoryBackend:
    return MemoryBackend()


def written(site: Site, name: str) -> int:
    """A file that is open, and of which the backend has nothing."""
    node = site.create(name)
    site.put(node, b"some")
    return node


def test_it_is_uploaded_by_the_next_mount(backend: MemoryBackend, tmp_path: Path) -> None:
    before = Site(backend, tmp_path)
    written(before, "f")
    before.die()
    Site(backend, tmp_path, resumed=False).die()
    assert bytes(backend.fetch("f", limit=10)[1]) == b"some"
    assert not list((tmp_path / "stage").iterdir())


def test_it_waits_for_a_backend_that_does_not_answer(backend: MemoryBackend, tmp_path: Path) -> None:
    before = Site(backend, tmp_path)
    written(before, "f")
    before.die()

    def refuse(operation: str, path: str) -> None:
        if operation == "put":
            raise TimeoutError(errno.ETIMEDOUT, "no answer", path)

    backend.before = refuse
    site = Site(backend, tmp_path, resumed=False)
    site.die()
    backend.before = lambda _operation, _path: None
    site.vfs.end()
    assert bytes(backend.fetch("f", limit=10)[1]) == b"some"


def test_a_file_that_was_being_closed_when_the_process_was_killed_is_not_empty(
    backend: MemoryBackend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = Site(backend, tmp_path)
    node = written(before, "f")
    got(before.vfs.flush(node, 1))

    def kill(_staged: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(before.nodes.stage, "end", kill)
    with pytest.raises(KeyboardInterrupt):
        got(before.vfs.release(node, 0, 1))
    before.die()
    site = Site(backend, tmp_path)
    # The kernel knows the file by its number, and asks no more by its name.
    got(site.vfs.release(node, 0, 1))
    site.rename("f", "g")
    found = got(site.vfs.getattr(ME, node)).attributes
    assert found
    assert found.size == len(b"some")
    assert site.read("g") == b"some"
    site.die()


def test_nobody_waits_until_the_uploads_of_a_killed_process_are_dropped(backend: MemoryBackend, tmp_path: Path) -> None:
    upload = backend.begin("large")
    Site(backend, tmp_path).die()
    (tmp_path / "uploads" / "left").write_bytes(msgspec.msgpack.encode(upload))
    answers = threading.Event()

    def wait(operation: str, _path: str) -> None:
        assert operation != "drop" or answers.wait(PATIENCE)

    backend.before = wait
    site = Site(backend, tmp_path)
    assert site.names("") == []
    answers.set()
    deadline = time.monotonic() + PATIENCE
    while backend.uploads("") or any((tmp_path / "uploads").iterdir()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    site.die()


def test_what_somebody_else_has_replaced_goes_aside(backend: MemoryBackend, tmp_path: Path) -> None:
    backend.put("f", b"old")
    before = Site(backend, tmp_path)
    before.put(before.open("f", os.O_RDWR), b"new")
    before.die()
    backend.put("f", b"of somebody else")
    site = Site(backend, tmp_path, resumed=False)
    site.die()
    site.vfs.end()
    assert bytes(backend.fetch("f", limit=20)[1]) == b"of somebody else"
    (kept,) = (tmp_path / "aside").iterdir()
    assert kept.read_bytes() == b"new"


def test_what_has_no_name_any_more_goes_aside(backend: MemoryBackend, tmp_path: Path) -> None:
    before = Site(backend, tmp_path)
    node = written(before, "f")
    before.nodes.remove(before.nodes[node])
    before.die()
    site = Site(backend, tmp_path, resumed=False)
    site.die()
    site.vfs.end()
    (kept,) = (tmp_path / "aside").iterdir()
    assert kept.read_bytes() == b"some"
