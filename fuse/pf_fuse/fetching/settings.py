"""How a mount fetches."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class FetchSettings:
    """How a mount fetches. Sizes are in bytes."""

    memory: int = 128 * MIB
    """For all that was fetched or is being fetched; when nothing happens, next to nothing of it is taken."""
    block: int = 4 * MIB
    """Of one request of a large file."""
    small: int = MIB
    """Files up to this size are fetched at once."""
    ahead: int = 64 * MIB
    """The farthest that is fetched before it is asked for, in one file."""
    files_ahead: int = 256
    """Small files of one folder that are fetched before they are asked for."""
    workers: int = 16
    """Requests at once."""
    deadline: float = 60.0
    """Seconds after which whoever waits is told that the backend does not answer."""

    def __post_init__(self) -> None:
        if self.block % MIB or self.small > self.block:
            raise ValueError("a block is whole MiBs, and a small file is not larger")
        if self.memory < 2 * self.block:
            raise ValueError(f"memory for two blocks of {self.block} bytes is the least")

    @property
    def at_once(self) -> int:
        """Requests that memory is enough for; as much again is for what waits to be read."""
        return max(1, min(self.workers, self.memory // self.block // 2))
