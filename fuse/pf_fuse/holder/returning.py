"""What a client says that hands its mount to the next holder: a packet, or several where many files are registered."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from pf_fuse.holder.messages import ROOM, VERSION, Adopt

File: TypeAlias = tuple[int, int]
"""The device and the number on its disk."""
_AROUND = 1024
"""Bytes of a packet beside what was kept and the files."""


def returns(agreed: tuple[int, int, int], kept: str, registered: Mapping[int, File]) -> list[Adopt]:
    """The first comes with the device. A holder of before there were several takes the others for nothing."""
    files = [(*file, backing) for backing, file in registered.items()]
    parts = list(_parts(files, ROOM - _AROUND - len(json.dumps(kept)))) or [[]]
    more = len(parts) - 1
    return [Adopt(*agreed, kept if not place else "", part, VERSION, more - place) for place, part in enumerate(parts)]


def _parts(files: list[tuple[int, int, int]], room: int) -> Iterator[list[tuple[int, int, int]]]:
    """None is larger than so many bytes."""
    longest = max((len(json.dumps(each)) + 2 for each in files), default=1)
    at_once = max(1, room // longest)
    for first in range(0, len(files), at_once):
        yield files[first : first + at_once]
