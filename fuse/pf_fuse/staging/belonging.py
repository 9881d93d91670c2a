"""What a mount leaves in its folder belongs to one backend: another may be mounted at the same place next."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

logger = logging.getLogger(__name__)

_MARK = "address"
"""The file that tells of which backend it is."""
_JOURNAL = "nodes"
_LEFT = ("stage", "uploads", "moves")
"""Folders with what was not finished."""
_FILES = "files"
"""Of what went aside: the files, where they belong."""


def belong(
    folder: Path,
    address: str,
    aside: Path,
    new_name: Callable[[], str],
    paths: Callable[[Path], Mapping[str, str]],
) -> None:
    """From now on all in the folder is of this backend. What was not finished in another one goes aside.

    `paths` reads in a journal where files of the stage belong.
    """
    mark = folder / _MARK
    before = mark.read_text() if mark.exists() else address
    if before != address:
        left = [folder / name for name in _LEFT if _has_something(folder / name)]
        if left:
            kept = aside / new_name()
            kept.mkdir(mode=0o700, parents=True)
            (kept / _MARK).write_text(before)
            belongs = paths(folder / _JOURNAL)
            with suppress(FileNotFoundError):
                (folder / _JOURNAL).rename(kept / _JOURNAL)
            for each in left:
                each.rename(kept / each.name)
            _put(kept, belongs)
            logger.error("not finished by a mount of something else", extra={"of": before, "kept": str(kept)})
        (folder / _JOURNAL).unlink(missing_ok=True)
    if before != address or not mark.exists():
        mark.write_text(address)
        with mark.open("rb") as written:
            os.fsync(written.fileno())


def _put(kept: Path, belongs: Mapping[str, str]) -> None:
    """Files lie where people find them; those that cannot stay in the stage."""
    for name, path in belongs.items():
        target = kept / _FILES / path
        with suppress(OSError):
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not target.exists():
                (kept / _LEFT[0] / name).rename(target)


def _has_something(folder: Path) -> bool:
    return folder.is_dir() and any(folder.iterdir())
