"""What a mount of one filesystem has left is never taken for another one's that is mounted at the same place."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest

from pf_fuse.staging.belonging import belong


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With a file of `s3://a` that was not uploaded."""
    made = tmp_path / "state"
    made.mkdir()
    mounted(made, "s3://a")
    (made / "stage").mkdir()
    (made / "stage" / "1").write_bytes(b"some")
    (made / "nodes").write_bytes(b"journal")
    return made


def mounted(folder: Path, address: str) -> None:
    names = count()
    belong(folder, address, folder / "aside", lambda: f"{address[-1]}{next(names)}")


def test_what_is_left_of_the_same_place_stays(folder: Path) -> None:
    mounted(folder, "s3://a")
    assert (folder / "stage" / "1").read_bytes() == b"some"
    assert (folder / "nodes").exists()


def test_what_is_left_of_another_goes_aside_and_says_of_which(folder: Path) -> None:
    mounted(folder, "s3://b")
    (kept,) = (folder / "aside").iterdir()
    assert (kept / "stage" / "1").read_bytes() == b"some"
    assert (kept / "nodes").read_bytes() == b"journal"
    assert (kept / "address").read_text() == "s3://a"
    assert not (folder / "stage").exists()
    assert not (folder / "nodes").exists()


def test_nothing_goes_aside_if_nothing_was_left(folder: Path) -> None:
    (folder / "stage" / "1").unlink()
    mounted(folder, "s3://b")
    assert not (folder / "aside").exists()
    assert not (folder / "nodes").exists()
