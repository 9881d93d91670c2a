"""What is made of a name node that is broken, or means harm."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from pf_backends.errors import Unreachable
from pf_backends.hdfs import hadoop_pb2 as hadoop
from pf_backends.hdfs.backend import HdfsBackend
from pf_backends.hdfs.settings import HdfsSettings
from support.backend_places import listed, names
from support.false_name_node import Tell, listing, name_node, status

Open = Callable[[Tell], HdfsBackend]
UPLOAD = b".pf~" + b"0" * 32 + b"-1-n-n"
FOLDER, STRANGE = 1, 9


@pytest.fixture
def opened() -> Iterator[Open]:
    with ExitStack() as stack:

        def opening(tell: Tell) -> HdfsBackend:
            port = stack.enter_context(name_node(tell))
            backend = HdfsBackend(HdfsSettings((("127.0.0.1", port),), "alice", "top", deadline=2.0))
            stack.callback(backend.close)
            return backend

        yield opening


def test_names_that_nothing_can_have_are_passed_over(opened: Open) -> None:
    bad = (b".", b"..", b"a/b", b"../../etc", b"a\0b", b"\xff\xfe")
    backend = opened(lambda _path, _after: listing(status(b"a"), *map(status, bad), status(b"z", kind=FOLDER)))
    assert names(listed(backend)) == ["a", "z"]


def test_something_of_an_unknown_kind_hides_nothing_else(opened: Open) -> None:
    backend = opened(lambda _path, _after: listing(status(b"a"), status(b"b", kind=STRANGE), status(b"c")))
    assert names(listed(backend)) == ["a", "c"]


def test_all_pages_are_told_also_behind_those_with_nothing_to_tell(opened: Open) -> None:
    told = {b"": (b"a", b"\xff"), b"\xff": (b"\xfe", b".pf~1"), b".pf~1": (b"b", b"c"), b"c": (b"d",)}

    def tell(_path: str, after: bytes) -> hadoop.GetListing.Listing:
        return listing(*map(status, told[after]), left=0 if after == b"c" else 9)

    backend = opened(tell)
    assert names(listed(backend)) == ["a", "b", "c", "d"]
    told |= {b"a": (b"\xff",), b"b": (b"c",)}
    for limit in (1, 2, 3):
        assert names(listed(backend, limit=limit)) == ["a", "b", "c", "d"]


@pytest.mark.parametrize("entries", [(), (b"a",), (b".pf~1",)])
def test_pages_that_do_not_get_on_end(opened: Open, entries: tuple[bytes, ...]) -> None:
    backend = opened(lambda _path, _after: listing(*map(status, entries), left=1))
    with pytest.raises(Unreachable):
        backend.list("")
    with pytest.raises(Unreachable):
        backend.uploads("")


def test_pages_of_nothing_but_drafts_end_with_the_time_of_a_call(opened: Open) -> None:
    backend = opened(lambda _path, after: listing(status(b".pf~%d" % (int(after[4:] or b"0") + 1)), left=1))
    with pytest.raises(Unreachable, match="no more time"):
        backend.list("")


def test_uploads_are_found_among_names_that_nothing_can_have(opened: Open) -> None:
    def tell(path: str, _after: bytes) -> hadoop.GetListing.Listing:
        if path.endswith("/name"):
            return listing(status(b"\xff"), status(b"..", kind=FOLDER), status(b"file", kind=FOLDER))
        return listing(status(b"\xff", kind=FOLDER), status(b".", kind=FOLDER), status(UPLOAD, kind=FOLDER))

    assert [upload.path for upload in opened(tell).uploads("")] == ["file"]
