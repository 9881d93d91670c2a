"""Addresses of servers."""

from __future__ import annotations

import re

SCHEMES = ("unix:", "dns:", "ipv4:", "ipv6:")
"""What an address begins with that is one already, without a port of its own."""

SERVICES = {"queue": "8999", "fs": "8998", "job": "8997", "pipeline": "8996"}
"""The services, and the ports that they have as long as nobody chooses others."""
ENTRANCE = "queue"
"""The service that logs callers in."""

_HOST_AND_PORT = re.compile(r"(?:\[[0-9A-Fa-f:.%]+\]|[^\s:/\[\]]+):(?P<port>[0-9]{1,5})")


def target(address: str) -> str:
    """What gRPC calls this address; ValueError if it is none.

    An address is ``host:port``, ``unix:/path/of/socket``, or one of gRPC's own ``dns:``, ``ipv4:`` and ``ipv6:``.
    """
    if not (address.isascii() and address.isprintable()):
        raise ValueError(f"{address!r} is not an address: it holds more than plain letters, digits and signs")
    if address.startswith("unix:"):
        path = address.removeprefix("unix:").removeprefix("//")
        if not path.startswith("/"):
            raise ValueError(f"{address!r} does not name an absolute path, as in unix:/run/paddleflow/queue.sock")
        return f"unix:{path}"
    if address.startswith(SCHEMES):
        if not address.partition(":")[2].strip("/"):
            raise ValueError(f"{address!r} names no host")
        return address
    match = _HOST_AND_PORT.fullmatch(address)
    if match is None or not 0 < int(match["port"]) < 65536:
        raise ValueError(f"{address!r} is not an address; write host:port or unix:/path/of/socket")
    return f"dns:///{address}"


def neighbour(address: str, service: str) -> str:
    """Where a service is that nothing is said of, beside the one that logs callers in.

    An installation gives its services ports and sockets that tell: ``host:8999`` has ``fs`` at ``host:8998``, and
    ``unix:/run/queue.sock`` at ``unix:/run/fs.sock``. Behind any other address there is one server for all.
    """
    if address.startswith("unix:"):
        return re.sub(rf"/{ENTRANCE}\.sock$", f"/{service}.sock", address)
    if address.startswith(SCHEMES):
        return address
    return re.sub(rf":{SERVICES[ENTRANCE]}$", f":{SERVICES[service]}", address)
