"""What a mount finds in a snapshot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pf_backends.entries import Entry, Kind
from pf_fuse.snapshots.finding import found
from pf_fuse.snapshots.index import Index, build
from pf_fuse.snapshots.manifest import rows, write
from support.backend_places import in_memory, listed, put_all, walked

TOP = Entry("", Kind.FOLDER, modified=5, mode=0o755, owner=(1, 2))
NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/\0"), min_size=1, max_size=20).filter(
    lambda name: name not in (".", "..")
)


def through(groups: Sequence[Sequence[Entry]], folder: Path) -> Index:
    """As a snapshot is written, read and made ready for a mount."""
    for _ in write(folder / "snapshot.parquet", groups, "memory"):
        pass
    build(rows(folder / "snapshot.parquet"), folder / "index")
    return Index(folder / "index")


@given(
    names=st.sets(NAMES, max_size=30),
    entry=st.builds(
        Entry,
        path=st.just(""),
        kind=st.sampled_from(Kind),
        size=st.integers(0, 1 << 60),
        modified=st.integers(0, 1 << 62),
        version=st.text(st.characters(exclude_categories=["Cs"]), max_size=40),
        mode=st.none() | st.integers(0, 0o7777),
        owner=st.none() | st.tuples(st.integers(0, (1 << 32) - 2), st.integers(0, 1 << 31)),
        target=st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    ),
)
def test_what_is_written_down_is_found_again(
    tmp_path_factory: pytest.TempPathFactory, names: set[str], entry: Entry
) -> None:
    things = [replace(entry, path=name) for name in sorted(names, key=str.encode)]
    index = through([[TOP], things], tmp_path_factory.mktemp("index"))
    assert index.find("") == TOP
    assert list(index.page("", "", 1000).entries) == things
    assert [index.find(thing.path) for thing in things] == things
    assert index.find("\ud800") is None
    for name in names:
        assert index.find(f"{name}/below") is None


def test_a_tree_is_what_it_was(tmp_path: Path) -> None:
    with in_memory() as backend:
        for folder in ("a", "a/b", "a-b", "a/empty", "z"):
            backend.make_folder(folder)
        put_all(backend, [f"a/{number:04}" for number in range(2500)] + ["a/b/x", "a-b/x", "z/ü"])
        backend.make_link("link", "a/b")
        index = through(list(found(backend, 4)), tmp_path)
        assert len(index) == len(walked(backend)) + 1
        for entry in walked(backend):
            assert index.find(entry.path) == entry
        rest = ""
        pages: list[Entry] = []
        while True:
            page = index.page("a", rest, 1000)
            pages += page.entries
            rest = page.rest
            if not rest:
                break
        assert pages == sorted(listed(backend, "a"), key=lambda entry: entry.name.encode())
        assert index.page("a/empty", "", 10).entries == []
        with pytest.raises(FileNotFoundError):
            index.page("no", "", 10)
        with pytest.raises(NotADirectoryError):
            index.page("z/ü", "", 10)


@pytest.mark.parametrize(
    "paths", [[], ["", "b", "a"], ["", "a", "a"], ["", "a/x", "b", "a/y"], ["", "f/b", "f/a"]], ids=str
)
def test_what_is_not_in_order_is_refused(tmp_path: Path, paths: list[str]) -> None:
    with pytest.raises(ValueError, match="order"):
        build([Entry(path, Kind.FILE) for path in paths], tmp_path / "index")
    assert not (tmp_path / "index").exists()


def test_what_is_no_snapshot_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"x" * 1000)
    with pytest.raises(ValueError, match="cannot be read"):
        list(rows(other))
    with pytest.raises(ValueError, match="no index"):
        Index(other)


def test_a_folder_that_cannot_be_listed_ends_it() -> None:
    with in_memory() as backend:
        backend.make_folder("closed")

        def refuse(folder: str, **_: object) -> object:
            raise PermissionError(13, "closed", folder)

        listing = backend.list
        object.__setattr__(backend, "list", lambda folder, **more: (refuse if folder else listing)(folder, **more))
        with pytest.raises(PermissionError):
            list(found(backend, 2))
