"""Pages of lists."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from paddleflow.common.v1.info_pb2 import ListAuditRecordsRequest
from paddleflow.problems import InvalidArgument, PageTokenInvalid
from pf_kit.page import PageTokens, list_scope, page_size

TOKENS = PageTokens(b"secret")


@pytest.mark.parametrize(("asked", "given_size"), [(0, 50), (1, 1), (1000, 1000), (1001, 1000), (2**31 - 1, 1000)])
def test_the_size_of_a_page(asked: int, given_size: int) -> None:
    assert page_size(asked) == given_size


def test_a_negative_size_is_refused_with_its_field() -> None:
    with pytest.raises(InvalidArgument) as caught:
        page_size(-1)
    assert caught.value.violations[0].field == "page_size"


@given(st.text(min_size=1), st.binary())
def test_a_token_gives_its_position_back(position: str, scope: bytes) -> None:
    assert TOKENS.decode(TOKENS.encode(position, scope), scope) == position


def test_the_empty_position_is_the_beginning_and_the_end() -> None:
    assert TOKENS.encode("", b"x") == ""
    assert TOKENS.decode("", b"x") == ""


@given(st.text(min_size=1), st.binary(), st.binary())
def test_a_token_is_of_one_list_only(position: str, scope: bytes, other: bytes) -> None:
    assume(scope != other)
    with pytest.raises(PageTokenInvalid):
        TOKENS.decode(TOKENS.encode(position, scope), other)


@given(st.text(min_size=1), st.binary())
def test_a_token_is_of_one_installation_only(position: str, scope: bytes) -> None:
    with pytest.raises(PageTokenInvalid):
        PageTokens(b"another").decode(TOKENS.encode(position, scope), scope)


@given(st.text(min_size=1))
def test_what_is_no_token_is_refused(text: str) -> None:
    with pytest.raises(PageTokenInvalid):
        TOKENS.decode(text, b"x")


@given(st.text(min_size=1), st.integers(0), st.integers(1, 255))
def test_a_changed_token_is_refused(position: str, place: int, change: int) -> None:
    token = bytearray(TOKENS.encode(position, b"x"), "ascii")
    token[place % len(token)] ^= change
    with pytest.raises(PageTokenInvalid):
        TOKENS.decode(token.decode("latin-1"), b"x")


@pytest.mark.parametrize("foreign", ["*", "****", "\n", " ", "=", "===="])
def test_a_token_with_foreign_characters_is_refused(foreign: str) -> None:
    token = TOKENS.encode("team-a", b"x")
    for place in (0, len(token) // 2, len(token)):
        with pytest.raises(PageTokenInvalid):
            TOKENS.decode(token[:place] + foreign + token[place:], b"x")


def test_the_scope_is_the_request_without_size_and_token() -> None:
    first = ListAuditRecordsRequest(actor="user/a", page_size=5)
    later = ListAuditRecordsRequest(actor="user/a", page_size=7, page_token="t")
    other = ListAuditRecordsRequest(actor="user/b", page_size=5)
    assert list_scope(first) == list_scope(later) != list_scope(other)
    assert first.page_size == 5
