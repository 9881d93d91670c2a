"""How far something has come that goes through many files."""

from __future__ import annotations

from dataclasses import dataclass, field

MOST_TOLD = 1000
"""Failures that are told by name; the others are counted."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A file that could not be brought here, or a folder that could not be listed."""

    path: str
    why: str


@dataclass(slots=True)
class Progress:
    """Counts so far. Whoever changes it holds the lock of what it is about."""

    files: int = 0
    """That were found so far; all that there are once `listed` is true."""
    bytes: int = 0
    files_done: int = 0
    """That are here as a whole, those that were before among them."""
    bytes_done: int = 0
    files_kept: int = 0
    """Of these, those that were here before."""
    bytes_fetched: int = 0
    failed: int = 0
    listed: bool = False
    failures: list[Failure] = field(default_factory=list)

    def fail(self, path: str, why: str) -> None:
        self.failed += 1
        if len(self.failures) < MOST_TOLD:
            self.failures.append(Failure(path, why))
