"""The addresses of the services, written down in the data folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pf_stack.files import write_private
from pf_stack.layout import Layout
from pf_stack.ports import choose_ports, starting_point

HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where one service listens."""

    port: int
    """For callers, on the loopback address."""
    admin_port: int
    """For metrics, on the loopback address."""
    socket: Path
    """For callers on this machine of the same account."""

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"

    @property
    def admin_address(self) -> str:
        return f"{HOST}:{self.admin_port}"

    @property
    def target(self) -> str:
        """The socket, as gRPC writes it."""
        return f"unix:{self.socket}"


def choose_endpoints(layout: Layout, wishes: Mapping[str, int], take: Callable[[int], bool]) -> dict[str, Endpoint]:
    """The addresses of these services, the same as before where that is possible, and writes them down.

    `take` says whether a port can be had, which is then chosen.
    Only the default data folder gets the ports that the services wish: another could take them away from it.
    """
    known = read_endpoints(layout)
    before = {name: endpoint.port for name, endpoint in known.items()}
    before |= {_admin(name): endpoint.admin_port for name, endpoint in known.items()}
    wanted = {name: wish if layout.is_default else None for name, wish in wishes.items()}
    wanted |= {_admin(name): None for name in wishes}
    ports = choose_ports(wanted, before, starting_point(layout.data), take)
    endpoints = {name: Endpoint(ports[name], ports[_admin(name)], layout.socket(name)) for name in wishes}
    _write(layout.endpoints, endpoints)
    return endpoints


def read_endpoints(layout: Layout) -> dict[str, Endpoint]:
    """The addresses that were written down; none before the first start."""
    try:
        content = json.loads(layout.endpoints.read_bytes())
    except FileNotFoundError:
        return {}
    return {
        name: Endpoint(entry["port"], entry["admin_port"], Path(entry["socket"])) for name, entry in content.items()
    }


def _write(file: Path, endpoints: Mapping[str, Endpoint]) -> None:
    content = {
        name: {"port": endpoint.port, "admin_port": endpoint.admin_port, "socket": str(endpoint.socket)}
        for name, endpoint in endpoints.items()
    }
    write_private(file, json.dumps(content, indent=2).encode())


def _admin(service: str) -> str:
    return f"{service}/admin"
