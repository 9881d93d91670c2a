"""Addresses that a server listens on."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator, Sequence
from ipaddress import ip_address

import grpc
from grpc import aio

from paddleflow.address import target
from pf_kit.start import CannotStart

_SCHEME = re.compile("ipv[46]:|dns:/*")


def listen(server: aio.Server, addresses: Sequence[str], credentials: grpc.ServerCredentials | None) -> Iterator[str]:
    """Makes the server listen on the addresses, and tells each with the port that was chosen.

    Unix sockets are not encrypted: whoever may open them is on the same machine.
    """
    for address in addresses:
        try:
            place = _place(address)
            if credentials is None or place.startswith("unix:"):
                port = server.add_insecure_port(place)
            else:
                port = server.add_secure_port(place, credentials)
        except ValueError as error:
            raise CannotStart(f"cannot listen on {error}") from error
        except RuntimeError as error:
            raise CannotStart(
                f"cannot listen on {address}; is another server there, or is the port not yours?"
            ) from error
        yield place if place.startswith("unix:") else f"{place.rpartition(':')[0]}:{port}"


def require_reachable(address: str) -> None:
    """Refuses, with CannotStart, an address that stands in a lease but that other instances cannot call."""
    try:
        target(address)
    except ValueError as error:
        raise CannotStart(f"other instances cannot reach this one: {error}, and a port other than 0") from error
    host = _SCHEME.sub("", address, count=1).rpartition(":")[0].strip("[]")
    if _is_wildcard(host):
        raise CannotStart(f"other instances cannot reach this one at {address}; set an address with its name or its IP")


def advertised(address: str) -> str:
    """Where others can call a server that listens there: an address of all interfaces gets the machine's name."""
    scheme = _SCHEME.match(address)
    host, _, port = address[scheme.end() if scheme else 0 :].rpartition(":")
    return f"{socket.gethostname()}:{port}" if _is_wildcard(host.strip("[]")) else address


def _is_wildcard(host: str) -> bool:
    try:
        return ip_address(host).is_unspecified
    except ValueError:
        return host == "*"


def _place(address: str) -> str:
    """The address as gRPC wants it from servers."""
    host, _, port = address.rpartition(":")
    if port == "0":
        # Clients have no use for port 0, so `target` refuses it.
        return f"{target(f'{host}:1').removeprefix('dns:///').removesuffix(':1')}:0"
    return target(address).removeprefix("dns:///")
