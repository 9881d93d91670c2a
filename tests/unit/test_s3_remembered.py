"""Pages of listings that are told again to the letter."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pf_backends.entries import Entry, Kind, Page
from pf_backends.s3.remembered import Remembered


def page(said: bytes) -> Page:
    """As many things as bytes were said."""
    return Page([Entry(f"{said!r}-{number}", Kind.FILE) for number in range(len(said))], "")


@given(st.lists(st.binary(max_size=6)), st.integers(1, 12))
def test_what_is_said_is_what_is_read_and_no_more_is_kept_than_may_be(told: list[bytes], most: int) -> None:
    remembered = Remembered(most)
    for said in told:
        assert remembered.page(said, page) == page(said)
        assert sum(len(each.entries) for each in remembered._pages.values()) == remembered._count <= most  # noqa: SLF001


def test_what_was_said_before_is_not_read_again() -> None:
    remembered, read = Remembered(3), list[bytes]()

    def reading(said: bytes) -> Page:
        read.append(said)
        return page(said)

    for said in (b"a", b"b", b"a", b"cd", b"a", b"b"):
        remembered.page(said, reading)
    # The longest unused goes: b made room for cd.
    assert read == [b"a", b"b", b"cd", b"b"]


def test_pages_with_nothing_in_them_are_not_kept_for_ever() -> None:
    remembered = Remembered(3)
    for number in range(10):
        remembered.page(f"empty-{number}".encode(), lambda _: Page([], ""))
    assert len(remembered._pages) == 3  # noqa: SLF001
