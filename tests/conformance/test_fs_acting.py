"""What users do with files, on backends of each kind."""

from __future__ import annotations

import pytest

from pf_backends.entries import Kind, Upload
from pf_backends.port import Backend
from pf_fs.manager import acting


def never() -> bool:
    return False


def below(backend: Backend, path: str = "") -> list[str]:
    found, rest = [], ""
    while True:
        page = acting.listed(backend, path, rest, 100, recursive=True)
        found += [each.path for each in page.entries if each.kind is Kind.FILE]
        if not (rest := page.rest):
            return sorted(found)


def fill(backend: Backend) -> list[str]:
    paths = [f"a/{number}/b/{name}" for number in range(3) for name in ("x", "ä y")]
    for path in paths:
        acting.make_folder(backend, path.rpartition("/")[0])
        acting.write(backend, path, path.encode(), replace=False)
    return sorted(paths)


def test_folders_are_made_with_those_above_them_and_once(backend: Backend) -> None:
    for _ in range(2):
        acting.make_folder(backend, "a/b/c")
    assert acting.look(backend, "a/b/c").kind is Kind.FOLDER
    acting.make_folder(backend, "")
    acting.write(backend, "a/file", b"", replace=False)
    with pytest.raises(NotADirectoryError):
        acting.make_folder(backend, "a/file/d")


def test_a_tree_is_listed_and_removed_whatever_it_holds(backend: Backend) -> None:
    paths = fill(backend)
    assert below(backend) == below(backend, "a") == paths
    with pytest.raises(OSError, match=r"(?i)not empty"):
        acting.remove(backend, "a", recursive=False, spent=never)
    acting.remove(backend, "a/0/b/x", recursive=False, spent=never)
    done = acting.remove(backend, "a", recursive=True, spent=never)
    assert not done.pending
    assert done.removed >= len(paths) - 1
    assert below(backend) == []
    with pytest.raises(FileNotFoundError):
        acting.remove(backend, "a", recursive=True, spent=never)


def test_a_removal_that_is_cut_off_goes_on(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    acting.make_folder(backend, "a")
    for number in range(25):
        acting.write(backend, f"a/{number}", b"", replace=False)
    monkeypatch.setattr(acting, "PAGE", 10)
    calls = 1
    while acting.remove(backend, "a", recursive=True, spent=lambda: True).pending:
        calls += 1
    assert calls > 1
    assert below(backend) == []


def test_what_is_there_is_replaced_only_if_that_is_wanted(backend: Backend) -> None:
    acting.write(backend, "file", b"one", replace=False)
    acting.write(backend, "other", b"two", replace=False)
    for change in (acting.rename, acting.copy) if backend.capabilities.copies else (acting.rename,):
        with pytest.raises(FileExistsError):
            change(backend, "file", "other", replace=False)
    with pytest.raises(FileExistsError):
        acting.write(backend, "file", b"three", replace=False)
    acting.rename(backend, "file", "other", replace=True)
    assert acting.read(backend, "other", 0, 100, "") == b"one"
    with pytest.raises(FileNotFoundError):
        acting.look(backend, "file")


def test_a_nothing_is_touched_into_being_and_a_file_keeps_its_bytes(backend: Backend) -> None:
    assert acting.touch(backend, "file", 1_900_000_000_000_000_000).size == 0
    acting.write(backend, "file", b"bytes", replace=True)
    acting.touch(backend, "file", 1_900_000_000_000_000_000)
    assert acting.read(backend, "file", 1, 3, "") == b"yte"


def test_a_large_file_comes_in_parts(parted: Backend) -> None:
    backend = parted
    body = bytes(range(256)) * 24_000
    begun = acting.begin(backend, "large", len(body))
    upload = Upload("large", begun.id, 0)
    starts = range(0, len(body), begun.part_size) if begun.part_size > 1 else [0]
    size = begun.part_size if begun.part_size > 1 else len(body)
    parts = [acting.send(backend, upload, number, body[start : start + size]) for number, start in enumerate(starts, 1)]
    assert acting.finish(backend, upload, parts, replace=False).size == len(body)
    assert acting.read(backend, "large", 1000, 5000, "") == body[1000:6000]


def test_the_place_where_nothing_is_and_the_file_are_no_folders(backend: Backend) -> None:
    acting.write(backend, "file", b"", replace=False)
    with pytest.raises(FileNotFoundError):
        acting.listed(backend, "nothing", "", 10, recursive=False)
    with pytest.raises(NotADirectoryError):
        acting.listed(backend, "file", "", 10, recursive=False)
