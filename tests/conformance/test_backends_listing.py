"""What every backend promises of lists and walks."""

from __future__ import annotations

from itertools import pairwise

import pytest

from pf_backends.entries import Kind
from pf_backends.port import Backend
from support.backend_places import listed, names, pages, put_all, walked


def test_a_list_tells_what_stat_tells(backend: Backend) -> None:
    backend.put("a", b"12")
    backend.make_folder("f")
    found = {entry.path: entry for entry in listed(backend)}
    assert found["a"] == backend.stat("a")
    assert (found["f"].kind, found["f"].size, found["f"].version) == (Kind.FOLDER, 0, "")
    assert backend.stat("f").kind is Kind.FOLDER
    assert backend.stat("").kind is Kind.FOLDER


def test_a_list_tells_of_one_folder_only(backend: Backend) -> None:
    for folder in ("f", "f/g", "fg"):
        backend.make_folder(folder)
    put_all(backend, ["a", "f/b", "f/g/c", "fg/d", "f-e"])
    assert names(listed(backend)) == ["a", "f", "f-e", "fg"]
    assert names(listed(backend, "f")) == ["f/b", "f/g"]
    assert names(listed(backend, "f/g")) == ["f/g/c"]


def test_an_empty_folder_has_nothing_in_it(backend: Backend) -> None:
    assert listed(backend) == []
    backend.make_folder("f")
    assert listed(backend, "f") == []
    assert walked(backend, "f") == []


def test_a_missing_folder_has_no_list(backend: Backend) -> None:
    if not backend.capabilities.folders:
        assert listed(backend, "no") == walked(backend, "no") == []
        return
    for ask in (listed, walked):
        with pytest.raises(FileNotFoundError):
            ask(backend, "no")
    backend.put("file", b"")
    for ask in (listed, walked):
        with pytest.raises(NotADirectoryError):
            ask(backend, "file")


def test_pages_are_not_longer_than_asked_for_and_leave_nothing_out(backend: Backend) -> None:
    backend.make_folder("f")
    paths = sorted([f"f/{number:03}" for number in range(25)])
    put_all(backend, paths)
    # SeaweedFS takes a page of one key, which is that of the folder itself, for the last one.
    for limit in (2, 7, 25, 100):
        found = list(pages(backend, "f", limit=limit))
        assert all(len(page.entries) <= limit for page in found)
        assert names([entry for page in found for entry in page.entries]) == paths
        deep = list(pages(backend, "f", limit=limit, deep=True))
        assert all(len(page.entries) <= limit for page in deep)
        assert names([entry for page in deep for entry in page.entries]) == paths


def test_a_page_can_be_asked_for_again(backend: Backend) -> None:
    put_all(backend, [f"{number:03}" for number in range(20)])
    first = backend.list("", limit=8)
    second = backend.list("", rest=first.rest, limit=8)
    again = backend.list("", rest=first.rest, limit=8)
    assert second.entries == again.entries
    assert not {entry.path for entry in first.entries} & {entry.path for entry in second.entries}


def test_files_can_be_removed_while_they_are_listed(backend: Backend) -> None:
    put_all(backend, [f"{number:03}" for number in range(120)])
    seen = []
    for page in pages(backend, limit=50):
        seen += [entry.path for entry in page.entries]
        assert not any(backend.remove_many([entry.path for entry in page.entries]))
    assert sorted(seen) == [f"{number:03}" for number in range(120)]
    assert listed(backend) == []


def test_a_walk_finds_all_below(backend: Backend) -> None:
    for folder in ("f", "f/g", "f/g/h", "empty"):
        backend.make_folder(folder)
    files = ["a", "f/b", "f/g/c", "f/g/h/d", "f-e"]
    put_all(backend, files)
    found = walked(backend, limit=2)
    assert names([entry for entry in found if entry.kind is Kind.FILE]) == sorted(files)
    folders = names([entry for entry in found if entry.kind is Kind.FOLDER])
    assert folders == ["empty", "f", "f/g", "f/g/h"]
    assert {entry.path for entry in walked(backend, "f/g")} >= {"f/g/c", "f/g/h/d"}
    assert all(entry == backend.stat(entry.path) for entry in found if entry.kind is Kind.FILE)


def test_a_walk_in_order_is_in_order(backend: Backend) -> None:
    for folder in ("a", "a-b", "z"):
        backend.make_folder(folder)
    put_all(backend, ["a/x", "a-b/y", "a.c", "a0", "ä", "z/1", "Z"])
    found = [entry.path.encode() for entry in walked(backend, limit=3)]
    assert not backend.capabilities.ordered or all(left < right for left, right in pairwise(found))


@pytest.mark.timeout(120)
def test_thousands_are_listed(backend: Backend) -> None:
    backend.make_folder("many")
    paths = [f"many/{number:05}" for number in range(2500)]
    put_all(backend, paths)
    assert names(listed(backend, "many")) == paths
    assert names(walked(backend)) == ["many", *paths]
