"""What every backend promises of uploads in parts."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from pf_backends.entries import Condition, Part, Upload
from pf_backends.errors import Changed
from pf_backends.port import Backend
from support.backend_places import content, listed

ABSENT = Condition(absent=True)


def least(backend: Backend) -> int:
    """Bytes of a part."""
    limits = backend.capabilities.parts
    assert limits is not None
    return max(limits.least, 1000)


def sent(backend: Backend, upload: Upload, bodies: list[bytes]) -> list[Part]:
    """All parts, several at once and the last one first."""
    numbered = list(enumerate(bodies, 1))[::-1]
    with ThreadPoolExecutor(3) as threads:
        return list(threads.map(lambda part: backend.send(upload, *part), numbered))


def test_parts_become_a_file(backend: Backend) -> None:
    size = least(backend)
    bodies = [b"a" * size, b"b" * size, b"tail"]
    upload = backend.begin("big")
    assert listed(backend) == []
    parts = sent(backend, upload, bodies)
    assert listed(backend) == []
    entry = backend.finish(upload, parts)
    assert entry == backend.stat("big")
    assert content(backend, "big") == b"".join(bodies)
    assert [found.path for found in listed(backend)] == ["big"]


def test_one_small_part_will_do(backend: Backend) -> None:
    upload = backend.begin("small")
    backend.finish(upload, [backend.send(upload, 1, b"abc")])
    assert content(backend, "small") == b"abc"


def test_a_part_that_is_sent_again_is_replaced(backend: Backend) -> None:
    upload = backend.begin("a")
    backend.send(upload, 1, b"first of all")
    backend.finish(upload, [backend.send(upload, 1, b"second")])
    assert content(backend, "a") == b"second"


def test_an_upload_can_be_finished_twice(backend: Backend) -> None:
    upload = backend.begin("a")
    parts = [backend.send(upload, 1, b"abc")]
    first = backend.finish(upload, parts)
    assert backend.finish(upload, parts) == first
    backend.put("a", b"another")
    with pytest.raises(OSError, match="a"):
        backend.finish(upload, parts)
    assert content(backend, "a") == b"another"


def test_a_dropped_upload_leaves_nothing(backend: Backend) -> None:
    upload = backend.begin("a")
    backend.send(upload, 1, b"abc")
    backend.drop(upload)
    backend.drop(upload)
    assert list(backend.uploads("")) == []
    assert listed(backend) == []
    with pytest.raises(FileNotFoundError):
        backend.finish(upload, [Part(1, 3, "0" * 32)])


def test_what_was_there_stays_until_an_upload_is_finished(backend: Backend) -> None:
    backend.put("a", b"before")
    upload = backend.begin("a")
    parts = [backend.send(upload, 1, b"after")]
    assert content(backend, "a") == b"before"
    backend.finish(upload, parts)
    assert content(backend, "a") == b"after"


def test_an_upload_is_finished_if_its_condition_holds(backend: Backend) -> None:
    before = backend.put("a", b"before")
    upload = backend.begin("a")
    parts = [backend.send(upload, 1, b"after")]
    with pytest.raises(Changed):
        backend.finish(upload, parts, condition=ABSENT)
    assert content(backend, "a") == b"before"
    backend.finish(upload, parts, condition=Condition(version=before.version))
    assert content(backend, "a") == b"after"


def test_uploads_under_way_are_found(backend: Backend) -> None:
    backend.make_folder("f")
    backend.make_folder("g")
    first, second, other = backend.begin("f/a"), backend.begin("f/b"), backend.begin("g/c")
    found = backend.uploads("f")
    assert {upload.path for upload in found} == {"f/a", "f/b"}
    assert {upload.path for upload in backend.uploads("")} == {"f/a", "f/b", "g/c"}
    parts = [backend.send(found[0], 1, b"abc")]
    backend.finish(found[0], parts)
    for upload in (first, second, other):
        backend.drop(upload)
    assert list(backend.uploads("")) == []
    assert content(backend, found[0].path) == b"abc"
