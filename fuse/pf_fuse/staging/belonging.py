"""What a mount leaves in its folder belongs to one backend: another may be mounted at the same place next."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

logger = logging.getLogger(__name__)

_MARK = "address"
"""The file that tells of which backend it is."""
_JOURNAL = "nodes"
_LEFT = ("stage", "uploads", "moves")
"""Folders with what was not finished."""


def belong(folder: Path, address: str, aside: Path, new_name: Callable[[], str]) -> None:
    """From now on all in the folder is of this backend. What was not finished in another one goes aside."""
    mark = folder / _MARK
    before = mark.read_text() if mark.exists() else address
    if before != address:
        left = [folder / name for name in _LEFT if _has_something(folder / name)]
        if left:
            kept = aside / new_name()
            kept.mkdir(mode=0o700, parents=True)
            (kept / _MARK).write_text(before)
            with suppress(FileNotFoundError):
                (folder / _JOURNAL).rename(kept / _JOURNAL)
            for each in left:
                each.rename(kept / each.name)
            logger.error("not finished by a mount of something else", extra={"of": before, "kept": str(kept)})
        (folder / _JOURNAL).unlink(missing_ok=True)
    mark.write_text(address)


def _has_something(folder: Path) -> bool:
    return folder.is_dir() and any(folder.iterdir())
