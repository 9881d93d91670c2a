"""What kernel and filesystem agree on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pf_fuse.kernel.features import (
    LINUX,
    USUAL,
    Agreement,
    Feature,
    Offer,
    TooOld,
    agree,
    decode_offer,
    encode_agreement,
)
from pf_fuse.kernel.wire import INIT_IN, INIT_OUT

ALL = Feature(2**42 - 1)
bits = st.integers(0, 2**64 - 1)


def offer(features: Feature = ALL, minor: int = 45) -> Offer:
    return Offer(7, minor, 1 << 17, features)


@given(bits, bits)
def test_nothing_is_agreed_on_that_is_not_offered_and_wanted(offered: int, wanted: int) -> None:
    features = int(agree(offer(Feature(offered)), Feature(wanted)).features)
    assert features & ~offered == 0
    assert features & ~wanted == 0


@given(bits, st.integers(0, 60))
def test_an_offer_is_understood(features: int, minor: int) -> None:
    message = INIT_IN.pack(7, minor, 4096, features & 0xFFFFFFFF, features >> 32)
    known = features if features & Feature.EXTENDED else features & 0xFFFFFFFF
    assert decode_offer(message + bytes(44)) == Offer(7, minor, 4096, Feature(known))


def test_the_shorter_offer_of_older_kernels_is_understood() -> None:
    message = INIT_IN.pack(7, 34, 4096, int(Feature.MAX_PAGES), 0)[:16]
    assert decode_offer(message) == Offer(7, 34, 4096, Feature.MAX_PAGES)


@pytest.mark.parametrize(
    ("linux", "there", "missing"),
    [
        pytest.param("5.10", Feature.NO_OPENDIR, Feature.EXTENDED, id="5.10"),
        pytest.param("6.1", Feature.EXTENDED, Feature.EXPIRE_ONLY, id="6.1"),
        pytest.param("6.6", Feature.EXPIRE_ONLY, Feature.PASSTHROUGH, id="6.6"),
        pytest.param("6.9", Feature.RESEND, Feature(0), id="6.9"),
    ],
)
def test_an_older_kernel_can_be_pretended(linux: str, there: Feature, missing: Feature) -> None:
    agreement = agree(offer().as_of(LINUX[linux]), USUAL)
    assert there in agreement.features
    assert not missing & agreement.features
    assert agreement.minor == LINUX[linux]


def test_kernels_that_tell_of_each_close_are_known() -> None:
    assert Agreement(35, USUAL).no_flush
    assert not Agreement(34, USUAL).no_flush


def test_the_kernels_cache_of_writes_and_passthrough_exclude_each_other() -> None:
    wanted = USUAL | Feature.WRITEBACK_CACHE
    assert Feature.PASSTHROUGH not in agree(offer(), wanted).features
    assert Feature.PASSTHROUGH in agree(offer(), USUAL).features


def test_a_kernel_that_is_too_old_is_told_so() -> None:
    with pytest.raises(TooOld, match=r"7\.27 .* since 5\.4"):
        agree(offer(minor=27), USUAL)


def test_the_reply_says_what_is_agreed_on() -> None:
    fields = INIT_OUT.unpack(encode_agreement(agree(offer(), USUAL)))
    major, minor, _, low, background, _, largest, grain, pages, _, high, stacked, timeout = fields
    assert (major, minor, largest, pages, grain, timeout) == (7, 40, 1 << 20, 256, 1, 0)
    assert Feature(low | high << 32) == USUAL
    assert background >= 64
    assert stacked == 1
    assert INIT_OUT.unpack(encode_agreement(Agreement(37, Feature.MAX_PAGES)))[11] == 0
