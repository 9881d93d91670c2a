"""Accelerators of this machine, each of which one replica has at a time."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

DEVICE = re.compile(r"nvidia[0-9]+")
VARIABLES = ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES")


class Accelerators:
    """Hands them out by number."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._taken: set[int] = set()

    def take(self, wanted: int) -> tuple[int, ...] | None:
        """The first that are free; None if they are too few."""
        free = [number for number in range(self.count) if number not in self._taken][:wanted]
        if len(free) < wanted:
            return None
        self._taken.update(free)
        return tuple(free)

    def claim(self, numbers: Iterable[int]) -> None:
        """These are in use since before."""
        self._taken.update(numbers)

    def give_back(self, numbers: Iterable[int]) -> None:
        self._taken.difference_update(numbers)


def count_devices() -> int:
    return sum(1 for path in Path("/dev").iterdir() if DEVICE.fullmatch(path.name))


def environment(numbers: Iterable[int]) -> dict[str, str]:
    """What tells programs which are theirs; without any, that none is."""
    cuda, container = VARIABLES
    listed = ",".join(map(str, numbers))
    return {cuda: listed, container: listed or "void"}
