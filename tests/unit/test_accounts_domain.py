from __future__ import annotations

import string
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pf_queue.accounts.domain import (
    GrantFilter,
    GrantKey,
    ResourceKind,
    Token,
    TokenPlace,
    User,
    expiry,
    is_resource_name,
    is_user_name,
)

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
LETTERS_AND_DIGITS = string.ascii_letters + string.digits
times = st.datetimes(min_value=datetime(2000, 1, 1), max_value=datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001


@given(st.text(LETTERS_AND_DIGITS, min_size=4, max_size=16))
def test_four_to_sixteen_letters_and_digits_are_a_user_name(name: str) -> None:
    assert is_user_name(name)


@given(st.text(min_size=0, max_size=20))
def test_nothing_else_is_a_user_name(name: str) -> None:
    assert is_user_name(name) == (4 <= len(name) <= 16 and all(char in LETTERS_AND_DIGITS for char in name))


@pytest.mark.parametrize("name", ["", "abc", "a" * 17, "alice\n", "al ice", "älice", "alice\x00", "alice-b", "٣٣٣٣"])
def test_these_are_no_user_names(name: str) -> None:
    assert not is_user_name(name)


def test_root_fits_the_rule_for_names() -> None:
    assert is_user_name("root")


@given(st.text(max_size=70))
def test_resource_names_are_letters_digits_underscores_and_dashes(name: str) -> None:
    allowed = LETTERS_AND_DIGITS + "_-"
    assert is_resource_name(name) == (1 <= len(name) <= 63 and all(char in allowed for char in name))


@given(times, st.timedeltas(min_value=timedelta(microseconds=1), max_value=timedelta(days=365)))
def test_a_token_lives_at_least_as_long_as_asked_and_ends_on_a_whole_second(
    time: datetime, lifetime: timedelta
) -> None:
    end = expiry(time, lifetime)
    assert end.microsecond == 0
    assert timedelta(0) <= end - (time + lifetime) < timedelta(seconds=1)


def test_a_token_is_good_until_its_end_or_its_revocation() -> None:
    token = Token("id", "alice", "", NOON, NOON + timedelta(hours=1))
    assert token.good(NOON + timedelta(minutes=59, seconds=59))
    assert not token.good(NOON + timedelta(hours=1))
    assert not Token("id", "alice", "", NOON, NOON + timedelta(hours=1), NOON).good(NOON)


@given(times, st.uuids())
def test_the_place_of_a_token_can_be_read_back(time: datetime, token_id: object) -> None:
    place = TokenPlace(time, str(token_id))
    assert TokenPlace.parse(str(place)) == place


@given(
    st.text(LETTERS_AND_DIGITS, min_size=4, max_size=16),
    st.sampled_from(ResourceKind),
    st.text(LETTERS_AND_DIGITS + "_-", min_size=1, max_size=63),
)
def test_the_key_of_a_grant_can_be_read_back(user: str, kind: ResourceKind, resource: str) -> None:
    key = GrantKey(user, kind, resource)
    assert GrantKey.parse(str(key)) == key


@given(st.integers(min_value=1, max_value=2**62))
def test_an_etag_is_the_version_in_hexadecimal(version: int) -> None:
    assert int(User("alice", "", version, NOON, NOON).etag, 16) == version


def test_a_user_shows_no_password() -> None:
    assert "hidden" not in repr(User("alice", "hidden", 1, NOON, NOON))


def test_a_filter_matches_by_each_of_its_fields() -> None:
    key = GrantKey("alice", ResourceKind.QUEUE, "team-a")
    assert GrantFilter().matches(key)
    assert GrantFilter("alice", ResourceKind.QUEUE, "team-a").matches(key)
    assert not GrantFilter(user="bobby").matches(key)
    assert not GrantFilter(kind=ResourceKind.FILESYSTEM).matches(key)
    assert not GrantFilter(resource="team-b").matches(key)
