"""Which machines backends may be on: an address of a backend is the word of a user.

A name is looked up, its addresses are judged, and those that were judged are connected to: a name that leads elsewhere
the next time leads nobody astray.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from pf_backends.errors import failure, unreachable

Network = IPv4Network | IPv6Network
Place = tuple[socket.AddressFamily, tuple[str, int]]
"""What a socket connects to."""

_CREDENTIALS = tuple(
    map(
        ip_network,
        ("169.254.0.0/16", "fe80::/10", "fd00:ec2::/32", "100.100.100.200/32", "192.0.0.0/24", "168.63.129.16/32"),
    )
)
"""Where clouds hand out the credentials of a machine to whoever asks from it."""
_NONE = IPv4Network("0.0.0.0/8")
"""Means this machine to some, and nobody to others."""
_SHARED = ip_network("100.64.0.0/10")
"""Of providers, RFC 6598."""
_TRANSLATED = ip_network("64:ff9b::/96")
"""IPv4 behind a translator, RFC 6052."""


@dataclass(frozen=True, slots=True)
class Reach:
    """The rules of an operator."""

    internal: bool = True
    """Machines of the operator's own network, and this one, may be reached."""
    allowed: tuple[Network, ...] = ()
    """These may be, whatever else is said."""

    def places(self, host: str, port: int) -> Sequence[Place]:
        """Where a host is, as far as it may be reached. PermissionError if nowhere, Unreachable if nobody knows it."""
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise unreachable(host, f"nobody knows the name: {error}") from None
        places = [(family, (str(where[0]), port)) for family, *_, where in found]
        refused = {place: self.refusal(ip_address(place[1][0].partition("%")[0])) for place in places}
        reachable = [place for place in places if not refused[place]]
        if not reachable:
            _, (address, _) = places[0]
            raise failure(errno.EACCES, host, f"leads to {address}, {refused[places[0]]}; an operator can allow it")
        return reachable

    def refusal(self, address: IPv4Address | IPv6Address) -> str:
        """Why an address is not to be reached; empty if it is."""
        meant = _meant(address)
        if any(each in network for each in (address, *meant) for network in self.allowed):
            return ""
        return next(filter(None, map(self._why_not, meant)), "")

    def _why_not(self, address: IPv4Address | IPv6Address) -> str:
        if any(address in network for network in _CREDENTIALS):
            return "where clouds hand out credentials"
        if address in _NONE or ((address.is_multicast or address.is_reserved) and not address.is_loopback):
            return "which is no address of one machine"
        if not self.internal and (not address.is_global or address in _SHARED):
            return "an address inside of the operator's network"
        return ""


def _meant(address: IPv4Address | IPv6Address) -> Sequence[IPv4Address | IPv6Address]:
    """An address, and those of IPv4 that one of IPv6 stands for."""
    if isinstance(address, IPv4Address):
        return [address]
    if address in _TRANSLATED or (int(address) < 1 << 32 and not address.is_loopback):
        return [IPv4Address(int(address) & 0xFFFFFFFF)]
    if address.ipv4_mapped:
        return [address.ipv4_mapped]
    inner = (address.sixtofour, *(address.teredo or ()))
    return [address, *(each for each in inner if each)]


ANYWHERE = Reach()
