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


def test_parts_become_a_file(parted: Backend) -> None:
    size = least(parted)
    bodies = [b"a" * size, b"b" * size, b"tail"]
    upload = parted.begin("big")
    assert listed(parted) == []
    parts = sent(parted, upload, bodies)
    assert listed(parted) == []
    entry = parted.finish(upload, parts)
    assert entry == parted.stat("big")
    assert content(parted, "big") == b"".join(bodies)
    assert [found.path for found in listed(parted)] == ["big"]


def test_one_small_part_will_do(parted: Backend) -> None:
    upload = parted.begin("small")
    parted.finish(upload, [parted.send(upload, 1, b"abc")])
    assert content(parted, "small") == b"abc"


def test_a_part_that_is_sent_again_is_replaced(parted: Backend) -> None:
    upload = parted.begin("a")
    parted.send(upload, 1, b"first of all")
    parted.finish(upload, [parted.send(upload, 1, b"second")])
    assert content(parted, "a") == b"second"


def test_an_upload_can_be_finished_twice(parted: Backend) -> None:
    upload = parted.begin("a")
    parts = [parted.send(upload, 1, b"abc")]
    first = parted.finish(upload, parts)
    assert parted.finish(upload, parts) == first
    parted.put("a", b"another")
    with pytest.raises(OSError, match="a"):
        parted.finish(upload, parts)
    assert content(parted, "a") == b"another"


def test_a_dropped_upload_leaves_nothing(parted: Backend) -> None:
    upload = parted.begin("a")
    parted.send(upload, 1, b"abc")
    parted.drop(upload)
    parted.drop(upload)
    assert list(parted.uploads("")) == []
    assert listed(parted) == []
    with pytest.raises(FileNotFoundError):
        parted.finish(upload, [Part(1, 3, "0" * 32)])


def test_what_was_there_stays_until_an_upload_is_finished(parted: Backend) -> None:
    parted.put("a", b"before")
    upload = parted.begin("a")
    parts = [parted.send(upload, 1, b"after")]
    assert content(parted, "a") == b"before"
    parted.finish(upload, parts)
    assert content(parted, "a") == b"after"


def test_an_upload_is_finished_if_its_condition_holds(parted: Backend) -> None:
    before = parted.put("a", b"before")
    upload = parted.begin("a")
    parts = [parted.send(upload, 1, b"after")]
    with pytest.raises(Changed):
        parted.finish(upload, parts, condition=ABSENT)
    assert content(parted, "a") == b"before"
    parted.finish(upload, parts, condition=Condition(version=before.version))
    assert content(parted, "a") == b"after"


def test_uploads_under_way_are_found(parted: Backend) -> None:
    parted.make_folder("f")
    parted.make_folder("g")
    first, second, other = parted.begin("f/a"), parted.begin("f/b"), parted.begin("g/c")
    found = parted.uploads("f")
    assert {upload.path for upload in found} == {"f/a", "f/b"}
    assert {upload.path for upload in parted.uploads("")} == {"f/a", "f/b", "g/c"}
    parts = [parted.send(found[0], 1, b"abc")]
    parted.finish(found[0], parts)
    for upload in (first, second, other):
        parted.drop(upload)
    assert list(parted.uploads("")) == []
    assert content(parted, found[0].path) == b"abc"
