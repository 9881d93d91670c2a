"""What a mount of one filesystem has left is never taken for another one's that is mounted at the same place."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest

from pf_backends.entries import Kind
from pf_fuse.operations import TOP
from pf_fuse.staging.belonging import belong
from pf_fuse.vfs.journal import Journal, NamedAt, StagedIn, staged_paths


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With a file of `s3://a` that was not uploaded."""
    made = tmp_path / "state"
    made.mkdir()
    mounted(made, "s3://a")
    (made / "stage").mkdir()
    (made / "stage" / "1").write_bytes(b"some")
    (made / "stage" / "2").write_bytes(b"removed")
    journal = Journal(made / "nodes")
    places = [NamedAt(7, TOP, Kind.FOLDER, b"above"), NamedAt(8, 7, Kind.FILE, b"draft")]
    journal.put([*places, NamedAt(9, -1, Kind.FILE, b"gone"), StagedIn(8, "1"), StagedIn(9, "2")])
    return made


def mounted(folder: Path, address: str) -> None:
    names = count()
    belong(folder, address, folder / "aside", lambda: f"{address[-1]}{next(names)}", staged_paths)


def test_what_is_left_of_the_same_place_stays(folder: Path) -> None:
    mounted(folder, "s3://a")
    assert (folder / "stage" / "1").read_bytes() == b"some"
    assert (folder / "nodes").exists()


def test_what_is_left_of_another_goes_aside_and_says_of_which(folder: Path) -> None:
    mounted(folder, "s3://b")
    (kept,) = (folder / "aside").iterdir()
    assert (kept / "files" / "above" / "draft").read_bytes() == b"some"
    assert [path.name for path in (kept / "stage").iterdir()] == ["2"]
    assert len(list(Journal(kept / "nodes").read())) == 5
    assert (kept / "address").read_text() == "s3://a"
    assert not (folder / "stage").exists()
    assert not (folder / "nodes").exists()


def test_nothing_goes_aside_if_nothing_was_left(folder: Path) -> None:
    for file in (folder / "stage").iterdir():
        file.unlink()
    mounted(folder, "s3://b")
    assert not (folder / "aside").exists()
    assert not (folder / "nodes").exists()
