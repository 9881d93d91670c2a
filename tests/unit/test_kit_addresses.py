"""Which addresses services may call for users."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pf_kit.addresses import allowed_of, permitted

NOTHING = allowed_of([])


@pytest.mark.parametrize("address", ["93.184.215.14", "8.8.8.8", "2606:2800:21f:cb07:6820:80da:af6b:8b2c"])
def test_public_addresses_may_be_called(address: str) -> None:
    assert permitted("example.com", address, NOTHING)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.8.9.10",
        "0.0.0.0",  # noqa: S104 - an address, not a place to listen
        "10.0.0.1",
        "172.16.5.4",
        "192.168.1.1",
        "100.64.0.1",
        "169.254.169.254",
        "168.63.129.16",  # public, and where Azure tells machines about themselves
        "224.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "fe80::1",
        "fe80::1%eth0",
        "fd00::1",
        "ff02::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "64:ff9b::10.0.0.1",
        "2002:7f00:1::",
        "2002:a00:1::",
    ],
)
def test_all_others_may_not(address: str) -> None:
    assert not permitted("example.com", address, NOTHING)


def test_an_administrator_allows_hosts_and_networks() -> None:
    allowed = allowed_of(["hooks.corp", ".intern.corp", "10.1.0.0/16", "192.168.7.8", "fd00::/8"])
    assert permitted("Hooks.corp", "127.0.0.1", allowed)
    assert permitted("a.b.intern.corp", "10.9.9.9", allowed)
    assert not permitted("intern.corp", "10.9.9.9", allowed)
    assert not permitted("evilhooks.corp", "10.9.9.9", allowed)
    assert permitted("any.host", "10.1.2.3", allowed)
    assert not permitted("any.host", "10.2.2.3", allowed)
    assert permitted("any.host", "192.168.7.8", allowed)
    assert permitted("any.host", "fd12::1", allowed)
    assert not permitted("any.host", "169.254.169.254", allowed)


@pytest.mark.parametrize("word", ["10.0.0.0/33", "host/path", "", "."])
def test_what_is_neither_host_nor_network_is_refused(word: str) -> None:
    with pytest.raises(ValueError, match="neither a host, nor an address, nor a network"):
        allowed_of([word])


@given(st.ip_addresses(v=4), st.ip_addresses(v=6))
def test_an_address_in_another_form_is_the_same_address(four: IPv4Address, six: IPv6Address) -> None:
    plain = permitted("h", str(four), NOTHING)
    assert permitted("h", f"::ffff:{four}", NOTHING) == plain
    assert not permitted("h", f"64:ff9b::{four}", NOTHING) or plain
    assert not permitted("h", str(six), NOTHING) or six.is_global
