"""What a holder and its client say to each other: one packet each, of JSON, some with a descriptor.

Either may be of another version than the other: what one says beside what the other knows is let pass.
"""

from __future__ import annotations

import json
import os
import socket
from array import array
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import TypeAlias

import msgspec

ROOM = 1 << 17
"""Bytes of a packet."""
KEPT = 1 << 16
"""Bytes that a client may have kept."""


VERSION = version("paddleflow-server")


@dataclass(frozen=True, slots=True)
class Come:
    """To a holder: this client wants to serve."""

    version: str = ""
    """Of the program; empty: of before it was told."""


@dataclass(frozen=True, slots=True)
class Welcome:
    """To a client, with the device: it is to serve from now on."""

    minor: int
    features: int
    largest: int
    """These three are what was agreed on with the kernel."""
    resumed: bool
    """Another has served before."""
    registers: bool
    """The holder can register files with the kernel."""
    kept: str
    """What an earlier client had kept."""
    version: str = ""
    """Of the holder's program."""


@dataclass(frozen=True, slots=True)
class Adopt:
    """To a new holder, with the device: the one before is gone, and this client has served all the while."""

    minor: int
    features: int
    largest: int
    kept: str
    registered: Sequence[tuple[int, int, int]]
    """Files that the kernel reads by itself: the device and the number of each on its disk, and what it is known by."""
    version: str = ""
    """Of the client's program."""
    more: int = 0
    """Packets of this kind that follow, with more files."""


@dataclass(frozen=True, slots=True)
class Register:
    """To the holder, with a file that the kernel is to read by itself."""


@dataclass(frozen=True, slots=True)
class Registered:
    """To a client: the number of the file. It is the same for the same file, whoever registered it."""

    backing: int


@dataclass(frozen=True, slots=True)
class Refused:
    """To a client: the kernel did not take the file."""

    number: int
    """Of the error."""


@dataclass(frozen=True, slots=True)
class Unregister:
    """To the holder: the number is not used any more."""

    backing: int


@dataclass(frozen=True, slots=True)
class Keep:
    """To the holder: whoever comes next is to know this."""

    text: str


@dataclass(frozen=True, slots=True)
class Yield:
    """To a client: another one wants to serve. It ends at once; what it has not answered is asked again."""


@dataclass(frozen=True, slots=True)
class Ended:
    """To the holder: the mount is gone, and all is finished that was begun."""


Message: TypeAlias = Come | Welcome | Adopt | Register | Registered | Refused | Unregister | Keep | Yield | Ended
KINDS: dict[str, type[Message]] = {
    kind.__name__: kind
    for kind in (Come, Welcome, Adopt, Register, Registered, Refused, Unregister, Keep, Yield, Ended)
}


class Misunderstood(ValueError):
    """The other end says what nobody understands; it may be of another version."""


def send(peer: socket.socket, message: Message, descriptor: int | None = None, flags: int = 0) -> None:
    packet = json.dumps([type(message).__name__, asdict(message)]).encode()
    # `socket.send_fds` leaves out the flags.
    beside = [] if descriptor is None else [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array("i", [descriptor]))]
    peer.sendmsg([packet], beside, flags)


def receive(peer: socket.socket) -> tuple[Message | None, int | None]:
    """The next message and its descriptor, which belongs to whoever asks; None when the other end is gone."""
    try:
        packet, descriptors, _, _ = socket.recv_fds(peer, ROOM, 1)
    except ConnectionError:
        return None, None
    descriptor = descriptors[0] if descriptors else None
    if not packet:
        return None, descriptor
    try:
        return decode(packet), descriptor
    except Misunderstood:
        if descriptor is not None:
            os.close(descriptor)
        raise


def decode(packet: bytes) -> Message:
    try:
        name, fields = json.loads(packet)
        return msgspec.convert(fields, KINDS[name])
    except (ValueError, TypeError, KeyError) as failure:
        raise Misunderstood(f"not understood: {packet[:100]!r}") from failure
