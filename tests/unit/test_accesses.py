"""The log of accesses is read as it is written."""

from __future__ import annotations

import errno

from hypothesis import given
from hypothesis import strategies as st

from paddleflow.accesses import MOST_PLACES, OTHERS, Access, Place, Profile, accesses, path_of
from pf_fuse.kernel.describing import describe, describe_end
from pf_fuse.kernel.wire import ASKER, HEAD, READ_IN, Ask

NAMES = st.binary(min_size=1, max_size=30).filter(lambda name: b"\0" not in name and b"/" not in name)


def line(ask: Ask, node: int, body: bytes, *, error: int = 0) -> str:
    head = HEAD.pack(40 + len(body), ask, 1, node) + ASKER.pack(0, 0, 77)
    request = (head.ljust(40, b"\0") + body).ljust(200, b"\0")
    return f"2026-01-01T00:00:00.000001Z {describe(request)}: {describe_end(error, 1_500_000)}\n"


@given(NAMES)
def test_a_name_is_found_whatever_it_is(name: bytes) -> None:
    (found,) = accesses([line(Ask.LOOKUP, 5, name + b"\0", error=errno.ENOENT)])
    assert found == Access("lookup", 77, Place(5, name.decode(errors="surrogateescape")), 0.0015, False)


def test_a_read_has_its_bytes() -> None:
    body = READ_IN.pack(1, 4096, 100, *[0] * (len(READ_IN.unpack(bytes(READ_IN.size))) - 3))
    (found,) = accesses([line(Ask.READ, 9, body), "nonsense\n"])
    assert (found.place, found.bytes, found.ok) == (Place(9), 100, True)


def test_a_profile_is_bounded() -> None:
    found = Profile()
    for number in range(MOST_PLACES + 5):
        found.add(Access("open", 1, Place(number + 2), 0.5, True), "a 1")
    assert len(found.places) == MOST_PLACES + 1
    assert found.places[OTHERS].count == 5
    assert found.requests["open"].count == MOST_PLACES + 5
    assert path_of(OTHERS, {}) == "others"
    assert path_of(Place(1, "a"), {1: ""}) == "a"
    assert path_of(Place(4, "a"), {4: "d"}) == "d/a"
    assert path_of(Place(1), {1: ""}) == "."
    assert path_of(Place(8, "a"), {}) == "node 8 a"
