"""What a new holder does where a mount of an earlier one is still served.

A client that has lost its holder goes on serving and looks for the next one, to which it hands the device back.
"""

from __future__ import annotations

import logging
import select
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass

from pf_fuse.holder.messages import VERSION, Adopt, Misunderstood, receive
from pf_fuse.kernel.features import Agreement, Feature

log = logging.getLogger(__name__)

_SPEAKS_WITHIN = 1.0
"""Seconds. Who comes with a mount says so at once, and others wait."""


@dataclass(frozen=True, slots=True)
class Adopted:
    """A mount and the client that serves it."""

    device: int
    agreement: Agreement
    kept: str
    registered: Mapping[tuple[int, int], int]
    client: socket.socket


def adopt(listener: socket.socket, patience: float) -> Adopted | None:
    """The mount of the first client that comes with one; None if none does within so many seconds."""
    deadline = time.monotonic() + patience
    while (left := deadline - time.monotonic()) > 0:
        if select.select([listener], [], [], left)[0]:
            client, _ = listener.accept()
            adopted = _adopted(client, deadline)
            if adopted is not None:
                return adopted
            client.close()
    return None


def _adopted(client: socket.socket, deadline: float) -> Adopted | None:
    client.settimeout(min(_SPEAKS_WITHIN, max(0.01, deadline - time.monotonic())))
    try:
        message, device = receive(client)
    except (TimeoutError, Misunderstood):
        return None
    client.settimeout(None)
    if not isinstance(message, Adopt) or device is None:
        return None
    agreement = Agreement(message.minor, Feature(message.features), message.largest)
    registered = {(disk, file): backing for disk, file, backing in message.registered}
    log.info("a mount goes on with %d registered files", len(registered))
    if message.version != VERSION:
        log.info("its client is of version %s, and this is %s", message.version or "unknown", VERSION)
    return Adopted(device, agreement, message.kept, registered, client)
