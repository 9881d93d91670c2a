"""What is written down for the next process is read by it, and what the machine has lost of it keeps nobody away."""

from __future__ import annotations

import os
from itertools import count
from pathlib import Path

import pytest

from pf_backends.memory.backend import LIKE_OBJECTS, MemoryBackend
from pf_fuse.staging.notes import Notes
from pf_fuse.staging.renaming import Move
from support.vfs_site import Site

MOVE = Move("a", "b")


def notes(folder: Path, *, lasting: bool = False) -> Notes[Move]:
    numbers = count()
    return Notes(folder, Move, lambda: f"{next(numbers)}", lasting=lasting)


@pytest.mark.parametrize("lost", [b"", bytes(20), b"\x82\xa6sou", b"\x80"])
def test_what_is_left_of_a_note_is_removed_and_others_are_read(tmp_path: Path, lost: bytes) -> None:
    kept = notes(tmp_path).write(MOVE)
    (tmp_path / "lost").write_bytes(lost)
    (tmp_path / "half.new").write_bytes(b"")
    assert list(notes(tmp_path).left()) == [(kept, MOVE)]
    assert list(tmp_path.iterdir()) == [kept]


@pytest.mark.parametrize("kind", ["uploads", "moves"])
def test_a_mount_begins_with_an_empty_note(tmp_path: Path, kind: str) -> None:
    """As a disk may leave it when the machine goes down."""
    (tmp_path / kind).mkdir()
    (tmp_path / kind / "note").write_bytes(b"")
    backend = MemoryBackend(capabilities=LIKE_OBJECTS)
    backend.put("f", b"some")
    site = Site(backend, tmp_path, resumed=False)
    assert site.read("f") == b"some"
    assert not list((tmp_path / kind).iterdir())
    site.die()


@pytest.mark.parametrize(("lasting", "expected"), [(True, ["fsync", "rename", "fsync"]), (False, ["rename"])])
def test_one_that_lasts_is_on_the_disk_before_and_after_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lasting: bool, expected: list[str]
) -> None:
    done = list[str]()
    fsync, rename = os.fsync, Path.rename

    def syncing(descriptor: int) -> None:
        done.append("fsync")
        fsync(descriptor)

    def renaming(path: Path, target: Path) -> Path:
        done.append("rename")
        return rename(path, target)

    monkeypatch.setattr(os, "fsync", syncing)
    monkeypatch.setattr(Path, "rename", renaming)
    notes(tmp_path, lasting=lasting).write(MOVE)
    assert done == expected
