"""The choice of TCP ports."""

from __future__ import annotations

import hashlib
import os
import socket
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from pf_kit.embedded.refusal import Refusal

FIRST, LAST = 19000, 19999
"""Where ports are looked for: below those of the replicas of jobs, and below those that the kernel lends to outgoing
connections, for both could take away the port of a service while it is started again."""


class Reserved:
    """Ports that no other stack of this machine chooses while this process lives, also before a service listens there.

    Whoever has the UDP port of the same number has reserved it: one kernel call, which no file has to be kept for.
    """

    def __init__(self) -> None:
        self._held: list[socket.socket] = []

    def take(self, port: int) -> bool:
        """False if something listens there, or another stack has reserved it."""
        if not is_free(port):
            return False
        mark = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            mark.bind(("127.0.0.1", port))
        except OSError:
            mark.close()
            return False
        self._held.append(mark)
        return True

    def release(self) -> None:
        while self._held:
            self._held.pop().close()


def choose_ports(
    wanted: Mapping[str, int | None],
    known: Mapping[str, int],
    start: int,
    is_free: Callable[[int], bool],
) -> dict[str, int]:
    """A free port for each use: the one it had before, else the one it wishes, else the next from a starting point."""
    chosen = {use: known[use] for use in wanted if use in known and is_free(known[use])}
    for use, wish in wanted.items():
        if use not in chosen:
            candidates = (port for port in (wish, *_others(start)) if port and port not in chosen.values())
            chosen[use] = _first_free(candidates, is_free)
    return chosen


def _others(start: int) -> Iterator[int]:
    span = LAST - FIRST + 1
    return (FIRST + (start + step) % span for step in range(span))


def _first_free(candidates: Iterator[int], is_free: Callable[[int], bool]) -> int:
    port = next(filter(is_free, candidates), None)
    if port is None:
        raise Refusal(f"no TCP port between {FIRST} and {LAST} is free", "Stop what you do not need.")
    return port


def starting_point(data: Path) -> int:
    """Spreads the data folders of a machine over the ports, so that they rarely meet."""
    return int.from_bytes(hashlib.sha256(os.fsencode(data)).digest()[:4]) % (LAST - FIRST + 1)


def is_free(port: int) -> bool:
    """True if nothing listens on the port of this machine, on whatever address."""
    for address in ("127.0.0.1", "0.0.0.0"):  # noqa: S104 - asked, not listened on
        with socket.socket() as probe:
            # Ports of connections that ended just now are free; those listened on are not, in spite of this option.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((address, port))
            except OSError:
                return False
    return True
