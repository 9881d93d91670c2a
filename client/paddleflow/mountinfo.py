"""The kernel's list of mounts. It is the truth about what is mounted, and to read it asks nobody who serves a mount."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

KIND = "fuse.paddleflow"
"""Of mounts of PaddleFlow."""
_LIST = Path("/proc/self/mountinfo")
_DEVICE, _ROOT, _PLACE, _FLAGS, _OPTIONAL = 2, 3, 4, 5, 6
_OCTAL = re.compile(rb"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class Mount:
    """A mount as the kernel lists it."""

    place: str
    device: str
    """Of the filesystem: two numbers with a colon between. Binds of one filesystem have the same."""
    root: str
    """What of the filesystem is seen at this place."""
    read_only: bool
    kind: str
    source: str
    """What `df` and `mount` call it."""

    @property
    def ours(self) -> bool:
        return self.kind == KIND

    @property
    def connection(self) -> str:
        """By which number the kernel knows whoever serves it."""
        return self.device.partition(":")[2]


@dataclass(frozen=True, slots=True)
class Mounts:
    """All mounts that a process sees, in the order in which they were made."""

    all: Sequence[Mount]

    def layers(self, place: str) -> Sequence[Mount]:
        """Those at a place: the last one is what is seen."""
        return [mount for mount in self.all if mount.place == place]

    def top(self, place: str) -> Mount | None:
        layers = self.layers(place)
        return layers[-1] if layers else None


ReadMounts = Callable[[], Mounts]


def read_mounts() -> Mounts:
    """As they are now."""
    return parse(_LIST.read_bytes())


def parse(text: bytes) -> Mounts:
    # Other bytes that end a line for Python stand in paths as they are.
    return Mounts([_mount(line.split(b" ")) for line in text.split(b"\n") if line])


def _mount(fields: Sequence[bytes]) -> Mount:
    dash = fields.index(b"-", _OPTIONAL)
    return Mount(
        _plain(fields[_PLACE]),
        fields[_DEVICE].decode(),
        _plain(fields[_ROOT]),
        b"ro" in fields[_FLAGS].split(b","),
        _plain(fields[dash + 1]),
        _plain(fields[dash + 2]),
    )


def _plain(text: bytes) -> str:
    """Blanks and the like stand there by their octal numbers."""
    return os.fsdecode(_OCTAL.sub(lambda found: bytes([int(found[1], 8)]), text))
