"""Where backends may be."""

from __future__ import annotations

import socket
from ipaddress import ip_address, ip_network

import pytest

from pf_backends.errors import Unreachable
from pf_backends.reach import ANYWHERE, Reach

CREDENTIALS = [
    "169.254.169.254",
    "169.254.1.1",
    "fe80::1",
    "fd00:ec2::254",
    "100.100.100.200",
    "168.63.129.16",
    "::ffff:169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "2002:a9fe:a9fe::1",
    "::a9fe:a9fe",
]
NOWHERE = ["0.0.0.1", "::", "224.0.0.1", "255.255.255.255", "ff02::1"]
INTERNAL = [
    "127.0.0.1",
    "127.8.8.8",
    "::1",
    "10.1.2.3",
    "172.16.0.1",
    "192.168.1.1",
    "100.64.0.1",
    "fd12::1",
    "::ffff:10.0.0.1",
]
PUBLIC = ["8.8.8.8", "52.216.0.1", "2600:1f00::1"]


@pytest.mark.parametrize("address", [*CREDENTIALS, *NOWHERE])
def test_where_nobody_has_a_store_nobody_is_led(address: str) -> None:
    assert ANYWHERE.refusal(ip_address(address))
    assert not Reach(allowed=(ip_network(address),)).refusal(ip_address(address))


@pytest.mark.parametrize("address", INTERNAL)
def test_an_operator_can_close_the_own_network(address: str) -> None:
    assert not ANYWHERE.refusal(ip_address(address))
    assert Reach(internal=False).refusal(ip_address(address))
    assert not Reach(internal=False, allowed=(ip_network(address),)).refusal(ip_address(address))


@pytest.mark.parametrize("address", PUBLIC)
def test_the_world_is_open(address: str) -> None:
    assert not Reach(internal=False).refusal(ip_address(address))


def test_a_name_is_judged_by_where_it_leads(monkeypatch: pytest.MonkeyPatch) -> None:
    leads = ["169.254.169.254", "8.8.8.8"]

    def look_up(*_: object, **__: object) -> list[tuple[object, ...]]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 443)) for address in leads]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    assert ANYWHERE.places("store", 443) == [(socket.AF_INET, ("8.8.8.8", 443))]
    leads.pop()
    with pytest.raises(PermissionError, match=r"169\.254\.169\.254"):
        ANYWHERE.places("store", 443)


def test_numbers_in_other_clothes_are_the_same_addresses() -> None:
    for name in ("2852039166", "0xA9FEA9FE", "169.254.43518"):
        with pytest.raises(PermissionError):
            ANYWHERE.places(name, 80)


def test_a_name_that_nobody_knows_is_told() -> None:
    for name in ("nobody.invalid", "x" * 70, "a..b"):
        with pytest.raises(Unreachable):
            ANYWHERE.places(name, 80)
