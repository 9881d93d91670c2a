"""What others write to files while these are renamed by copies is where they are then."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pf_backends.entries import Kind
from pf_backends.errors import Changed
from pf_backends.memory.backend import LIKE_OBJECTS, MemoryBackend
from pf_fuse.direct.files import DirectFiles
from pf_fuse.direct.known import Known
from pf_fuse.fetching.settings import FetchSettings
from pf_fuse.pages.cache import CacheSettings, PageCache
from pf_fuse.staging.notes import Notes
from pf_fuse.staging.renaming import Move, Renamer
from support.vfs_site import fails

THEIRS = b"written by another client, which was told that it is there"


class Store(MemoryBackend):
    """Somebody else writes to it before operations of one kind."""

    def __init__(self) -> None:
        super().__init__(capabilities=LIKE_OBJECTS)
        self.copied: list[str] = []
        self.put("d/f", b"old")
        self.put("d/g", b"old")

    def disturbed(self, operation: str, disturb: Callable[[int], None]) -> None:
        """The number of each such operation is told, from 1."""
        count = 0

        def before(asked: str, path: str) -> None:
            nonlocal count
            if asked == "copy":
                self.copied.append(path)
            if asked == operation:
                count += 1
                disturb(count)

        self.before = before

    def has(self) -> dict[str, bytes]:
        self.before = lambda _operation, _path: None
        files = [entry.path for entry in self.walk("").entries if entry.kind is Kind.FILE]
        return {path: bytes(self.fetch(path, limit=1000)[1]) for path in files}


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def renamer(store: Store, tmp_path: Path) -> Iterator[Renamer]:
    with ThreadPoolExecutor(2) as copiers:
        yield Renamer(store, Notes(tmp_path / "moves", Move, lambda: "note"), copiers)


@pytest.fixture
def files(store: Store, tmp_path: Path) -> Iterator[DirectFiles]:
    cache = PageCache(CacheSettings([str(tmp_path / "cache")]))
    made = DirectFiles(store, cache, FetchSettings(), Known(0.0, lambda: 0.0))
    yield made
    made.end()


def theirs_at(store: Store, path: str, when: int) -> Callable[[int], None]:
    """Somebody else writes the file as the operation is asked for so many times."""

    def disturb(number: int) -> None:
        if number == when:
            store.put(path, THEIRS)

    return disturb


def theirs_always(store: Store, path: str) -> Callable[[int], None]:
    def disturb(number: int) -> None:
        store.put(path, b"%d" % number)

    return disturb


def test_of_a_file(store: Store, renamer: Renamer) -> None:
    before = store.stat("d/f").version
    store.disturbed("remove", theirs_at(store, "d/f", 1))
    copied = renamer.file("d/f", "e")
    assert copied
    assert copied.version not in ("", before)
    assert copied.made == store.stat("e")
    assert store.has() == {"d/g": b"old", "e": THEIRS}


def test_of_a_file_that_a_program_moves(store: Store, files: DirectFiles) -> None:
    store.disturbed("remove", theirs_at(store, "d/f", 1))
    files.move("d/f", "e")
    assert store.has() == {"d/g": b"old", "e": THEIRS}


def test_of_a_folder(store: Store, renamer: Renamer) -> None:
    """Its files are looked at once more by the second list of them."""
    store.disturbed("walk", theirs_at(store, "d/f", 2))
    renamer.folder("d", "e")
    assert sorted(store.copied) == ["d/f", "d/f", "d/g"]
    assert store.has() == {"e/f": THEIRS, "e/g": b"old"}


def test_what_comes_into_a_folder_meanwhile_comes_along(store: Store, renamer: Renamer) -> None:
    store.disturbed("walk", theirs_at(store, "d/deep/new", 2))
    renamer.folder("d", "e")
    assert store.has() == {"e/f": b"old", "e/g": b"old", "e/deep/new": THEIRS}


def test_a_copy_is_replaced_however_coarse_the_times_are(tmp_path: Path) -> None:
    """By its size and its time what came later could be what was copied."""
    coarse = MemoryBackend(capabilities=LIKE_OBJECTS, clock=lambda: 1)
    coarse.put("d/f", b"old")
    walks = 0

    def before(operation: str, _path: str) -> None:
        nonlocal walks
        walks += operation == "walk"
        if operation == "walk" and walks == 2:
            coarse.put("d/f", b"new")

    coarse.before = before
    with ThreadPoolExecutor(2) as copiers:
        Renamer(coarse, Notes(tmp_path, Move, lambda: "note"), copiers).folder("d", "e")
    assert bytes(coarse.fetch("e/f", limit=10)[1]) == b"new"


def test_what_is_written_without_end_stays_where_it_is(store: Store, renamer: Renamer) -> None:
    store.disturbed("remove", theirs_always(store, "d/f"))
    with pytest.raises(Changed):
        renamer.file("d/f", "e")
    assert "d/f" in store.has()
    store.disturbed("walk", theirs_always(store, "d/f"))
    with fails(errno.ESTALE):
        renamer.folder("d", "z")
    assert {"d/f", "d/g"} <= store.has().keys()
