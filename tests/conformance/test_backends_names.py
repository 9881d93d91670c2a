"""Names that are hard to get right."""

from __future__ import annotations

import errno

import pytest

from pf_backends.entries import Kind
from pf_backends.port import Backend
from support.backend_places import content, listed, names, read, walked

NAMES = [
    "ü",
    "日本語",
    "e\u0301",
    "😀",
    " ",
    "a b",
    " lead",
    "trail ",
    "%",
    "%41",
    "%2F",
    "+",
    "a+b",
    "line\nbreak",
    "tab\there",
    "quote\"'`",
    "&amp;<b>",
    "back\\slash",
    "#?;=&@:$,!*()[]{}|^",
    "~",
    "-rf",
    ".hidden",
    "...",
    "x" * 255,
    "ü" * 127,
]


def is_impossible(name: str, request: pytest.FixtureRequest) -> bool:
    """SeaweedFS takes a backslash for a slash, and Hadoop refuses colons."""
    return any(sign in name and server in request.node.name for sign, server in (("\\", "seaweed"), (":", "hdfs")))


@pytest.mark.parametrize("name", NAMES, ids=[ascii(name)[:20] for name in NAMES])
def test_a_name_is_kept_as_it_is(backend: Backend, name: str, request: pytest.FixtureRequest) -> None:
    if is_impossible(name, request):
        return
    backend.make_folder("in")
    path = f"in/{name}"
    entry = backend.put(path, b"abc")
    assert entry == backend.stat(path)
    assert content(backend, path) == b"abc"
    assert read(backend, path, 1, 1, version=entry.version) == b"b"
    assert names(listed(backend, "in")) == [path]
    assert path in names(walked(backend))
    if backend.capabilities.copies:
        backend.copy(path, f"{path[:-1]}2")
        assert len(listed(backend, "in")) == 2
        backend.remove(f"{path[:-1]}2")
    assert backend.remove_many([path]) == [None]
    assert listed(backend, "in") == []


@pytest.mark.parametrize("name", NAMES, ids=[ascii(name)[:20] for name in NAMES])
def test_a_folder_may_have_that_name_too(backend: Backend, name: str, request: pytest.FixtureRequest) -> None:
    if is_impossible(name, request):
        return
    backend.make_folder(name)
    backend.put(f"{name}/a", b"")
    assert [(entry.path, entry.kind) for entry in listed(backend)] == [(name, Kind.FOLDER)]
    assert names(listed(backend, name)) == [f"{name}/a"]


def test_a_name_that_is_too_long_is_refused(backend: Backend) -> None:
    path = "/".join(["x" * 250] * 20)
    with pytest.raises(OSError, match="x") as refused:
        backend.put(path, b"")
    assert refused.value.errno in (errno.ENAMETOOLONG, errno.ENOENT)
    with pytest.raises(OSError, match="x"):
        backend.stat(path)


def test_text_that_has_no_bytes_is_refused(backend: Backend) -> None:
    with pytest.raises(OSError, match="d800") as refused:
        backend.put("\ud800", b"")
    assert refused.value.errno == errno.EILSEQ
