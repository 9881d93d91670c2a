"""Which addresses users may let the services call: public ones, and others only if the administrator says so.

Whoever chooses where a service sends or fetches something could make it call what only it can reach: its own machine,
the network it stands in, what the provider tells machines about themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_address, ip_network

from pf_backends.reach import Network, Reach


@dataclass(frozen=True, slots=True)
class Allowed:
    """What the administrator allows beside public addresses."""

    hosts: frozenset[str]
    """Names; those that begin with a dot stand for all names that end with them."""
    networks: tuple[Network, ...]


def allowed_of(words: Sequence[str]) -> Allowed:
    """What the administrator wrote: names, `.example.com`, addresses and networks. Raises ValueError."""
    networks, hosts = [], []
    for word in words:
        try:
            networks.append(ip_network(word, strict=False))
        except ValueError:
            if "/" in word or not word.strip("."):
                raise ValueError(f"{word!r} is neither a host, nor an address, nor a network") from None
            hosts.append(word.lower())
    return Allowed(frozenset(hosts), tuple(networks))


def is_named(host: str, allowed: Allowed) -> bool:
    """Whether a host may be called by its name, whatever its address is."""
    name = host.lower()
    return name in allowed.hosts or any(each.startswith(".") and name.endswith(each) for each in allowed.hosts)


def permitted(host: str, address: str, allowed: Allowed) -> bool:
    """Whether an address may be called that a host has."""
    found = ip_address(address.partition("%")[0])
    return is_named(host, allowed) or not Reach(internal=False, allowed=allowed.networks).refusal(found)
