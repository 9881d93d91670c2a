"""Secrets under keys that can be replaced."""

from __future__ import annotations

import secrets
from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pf_kit.sealing import KeyRing, SealBroken, Sealed, key_name

OLD, NEW = bytes(range(32)), bytes(range(32, 64))
WORDS = st.lists(st.text(max_size=10), max_size=4)


@given(st.binary(max_size=2_000), WORDS)
def test_what_is_sealed_can_be_opened(secret: bytes, words: list[str]) -> None:
    ring = KeyRing([OLD])
    sealed = ring.seal(secret, words)
    assert ring.open(sealed, words) == secret
    if len(secret) > 8:
        assert secret not in sealed.data


def test_the_first_key_seals_and_all_open() -> None:
    old = KeyRing([OLD]).seal(b"secret", ["a"])
    both = KeyRing([NEW, OLD])
    assert both.open(old, ["a"]) == b"secret"
    new = both.seal(b"secret", ["a"])
    assert (old.key, new.key) == (key_name(OLD), key_name(NEW)) == (KeyRing([OLD]).newest, both.newest)
    assert KeyRing([NEW]).open(new, ["a"]) == b"secret"
    with pytest.raises(SealBroken, match=f"sealed with the key {key_name(OLD)}, which is not there"):
        KeyRing([NEW]).open(old, ["a"])


@given(WORDS, WORDS)
def test_a_seal_holds_for_the_words_it_was_bound_to(bound: list[str], other: list[str]) -> None:
    ring = KeyRing([OLD])
    sealed = ring.seal(b"secret", bound)
    if bound != other:
        with pytest.raises(SealBroken, match="belongs elsewhere"):
            ring.open(sealed, other)


@given(st.data())
def test_a_changed_byte_is_noticed_wherever_it_is(data: st.DataObject) -> None:
    ring = KeyRing([OLD])
    changed = bytearray(ring.seal(b"secret", ["a"]).data)
    changed[data.draw(st.integers(0, len(changed) - 1))] ^= data.draw(st.integers(1, 255))
    with pytest.raises(SealBroken):
        ring.open(Sealed(ring.newest, bytes(changed)), ["a"])


@given(st.binary(max_size=40))
def test_what_was_never_sealed_cannot_be_opened(junk: bytes) -> None:
    ring = KeyRing([OLD, NEW])
    with pytest.raises(SealBroken):
        ring.open(Sealed(ring.newest, junk), [])


def test_a_seal_is_not_passed_off_as_that_of_another_key() -> None:
    ring = KeyRing([OLD, NEW])
    with pytest.raises(SealBroken):
        ring.open(Sealed(key_name(NEW), ring.seal(b"secret", []).data), [])


def test_without_keys_nothing_is_sealed() -> None:
    with pytest.raises(SealBroken, match="no key"):
        KeyRing([]).seal(b"", [])


def test_a_file_holds_a_key_on_each_line() -> None:
    keys = [secrets.token_bytes(32) for _ in range(3)]
    lines = ["# the newest first", "", *(f"  {b64encode(key).decode()} " for key in keys)]
    ring = KeyRing.parse("\r\n".join(lines))
    assert ring.newest == key_name(keys[0])
    assert all(key_name(key) in ring for key in keys)
    assert KeyRing.parse("").newest == ""


@pytest.mark.parametrize("words", ["short", "AAAA", b64encode(bytes(31)).decode(), "not base64!"])
def test_a_line_that_is_no_key_is_refused(words: str) -> None:
    with pytest.raises(ValueError, match=r"must have 32 bytes|base64|padding|Only base64|Incorrect"):
        KeyRing.parse(words)
