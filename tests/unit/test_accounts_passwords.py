from __future__ import annotations

import asyncio
import hashlib
import string
from base64 import b64encode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paddleflow.problems import Overloaded
from pf_queue.accounts.passwords import (
    STANDARD,
    Cost,
    Passwords,
    StoredPassword,
    weakness,
)
from support.accounts import CHEAP


@given(st.text(max_size=12))
def test_a_password_is_strong_with_six_characters_a_digit_and_a_lower_case_letter(password: str) -> None:
    has_digit = any(char in string.digits for char in password)
    has_lower = any(char in string.ascii_lowercase for char in password)
    assert (weakness(password) == "") == (len(password) >= 6 and has_digit and has_lower)


def test_all_that_a_password_lacks_is_named() -> None:
    assert weakness("ABC") == "have at least 6 characters, contain a digit, contain a lower-case letter"
    assert weakness("abcdef") == "contain a digit"


@settings(max_examples=30)
@given(st.text(max_size=128), st.text(max_size=128))
def test_a_stored_password_matches_itself_only(password: str, other: str) -> None:
    stored = StoredPassword.parse(str(StoredPassword.of(password, CHEAP)))
    assert stored.matches(password)
    assert stored.matches(other) == (other == password)


def test_equal_passwords_are_stored_differently() -> None:
    assert str(StoredPassword.of("secret1", CHEAP)) != str(StoredPassword.of("secret1", CHEAP))


def test_the_standard_is_the_scrypt_of_the_library_with_16_mib() -> None:
    salt = bytes(range(16))
    digest = hashlib.scrypt(b"secret1", salt=salt, n=2**14, r=8, p=1, maxmem=2**26, dklen=32)
    text = f"$scrypt$ln=14,r=8,p=1${b64encode(salt).decode()}${b64encode(digest).decode()}"
    assert str(StoredPassword(STANDARD, salt, STANDARD.digest("secret1", salt))) == text
    assert StoredPassword.parse(text).matches("secret1")


@pytest.mark.parametrize("text", ["", "secret1", "$scrypt$ln=14,r=8$YQ==$YQ==", "$bcrypt$ln=1,r=1,p=1$YQ==$YQ=="])
def test_anything_else_is_no_stored_password(text: str) -> None:
    with pytest.raises(ValueError, match="not a stored password"):
        StoredPassword.parse(text)


def test_a_stored_password_shows_no_digest() -> None:
    stored = StoredPassword.of("secret1", CHEAP)
    assert "digest" not in repr(stored)


async def test_a_password_of_another_cost_still_matches_and_is_outdated() -> None:
    old, new = Passwords(cost=CHEAP), Passwords(cost=Cost(log2_n=5))
    stored = await old.hash("secret1")
    assert not old.outdated(stored)
    assert new.outdated(stored)
    assert await new.matches("secret1", stored)


async def test_the_decoy_costs_what_a_password_costs_and_matches_none() -> None:
    passwords = Passwords(cost=CHEAP)
    assert StoredPassword.parse(passwords.decoy).cost == CHEAP
    assert not await passwords.matches("secret1", passwords.decoy)


async def test_a_concealed_password_depends_on_password_and_salt_alone() -> None:
    passwords = Passwords(cost=CHEAP)
    concealed = await passwords.concealed("secret1", "id")
    assert concealed == await Passwords(cost=CHEAP).concealed("secret1", "id")
    assert concealed != await passwords.concealed("secret2", "id")
    assert concealed != await passwords.concealed("secret1", "other")


async def test_turns_are_few_and_whoever_finds_too_many_waiting_is_refused() -> None:
    passwords = Passwords(cost=CHEAP, threads=2, waiting=3)
    under_way, most, leave = 0, 0, asyncio.Event()

    async def take() -> None:
        nonlocal under_way, most
        async with passwords.turn():
            under_way += 1
            most = max(most, under_way)
            await leave.wait()
            under_way -= 1

    async with asyncio.TaskGroup() as group:
        for _ in range(5):
            group.create_task(take())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        with pytest.raises(Overloaded) as refused:
            await take()
        leave.set()
    assert refused.value.retry_after == 1.0
    assert most == 2
    await take()


async def test_a_turn_given_up_is_free_again() -> None:
    passwords = Passwords(cost=CHEAP, threads=1, waiting=0)

    async def take() -> None:
        async with passwords.turn():
            await asyncio.Event().wait()

    task = asyncio.create_task(take())
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    async with passwords.turn():
        assert await passwords.hash("secret1")
