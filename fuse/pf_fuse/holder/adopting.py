"""What a new holder does where a mount of an earlier one is still served.

A client that has lost its holder goes on serving and looks for the next one, to which it hands the device back.
"""

from __future__ import annotations

import logging
import os
import select
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass

from pf_fuse.holder.descriptors import NONE, closed
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
    device: int | None = None
    try:
        message, device = _heard(client, deadline)
        registered = _registered(message, client, deadline)
    except (TimeoutError, Misunderstood):
        closed(NONE if device is None else device)
        return None
    if device is None:
        return None
    client.settimeout(None)
    agreement = Agreement(message.minor, Feature(message.features), message.largest)
    log.info("a mount goes on with %d registered files", len(registered))
    if message.version != VERSION:
        log.info("its client is of version %s, and this is %s", message.version or "unknown", VERSION)
    return Adopted(device, agreement, message.kept, registered, client)


def _registered(first: Adopt, client: socket.socket, deadline: float) -> dict[tuple[int, int], int]:
    """With those of the packets that follow."""
    found, message = dict[tuple[int, int], int](), first
    while True:
        found |= {(disk, file): backing for disk, file, backing in message.registered}
        if not message.more:
            return found
        message, _ = _heard(client, deadline)


def _heard(client: socket.socket, deadline: float) -> tuple[Adopt, int | None]:
    client.settimeout(min(_SPEAKS_WITHIN, max(0.01, deadline - time.monotonic())))
    message, descriptor = receive(client)
    if isinstance(message, Adopt):
        return message, descriptor
    if descriptor is not None:
        os.close(descriptor)
    raise Misunderstood("whoever comes has no mount")
