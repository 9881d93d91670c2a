"""What mounts of a user have left on this machine: written and not uploaded, put aside, begun and not finished."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from paddleflow.mounted import is_held, is_served
from paddleflow.mounting import ABOUT, state_folders

_QUIET = 3600.0
"""Seconds after which a folder that nobody uses was not made by somebody who just begins to mount."""


@dataclass(frozen=True, slots=True)
class Left:
    """What lies in the folder of one mount."""

    folder: Path
    place: str
    """Where it was mounted; empty if that is not known."""
    url: str
    mounted: bool
    staged: int
    """Files that were written; without a mount they are not uploaded."""
    staged_bytes: int
    aside: Mapping[str, int]
    """Files that could not be uploaded, and their bytes."""
    uploads: int
    """In parts, neither finished nor dropped."""
    moves: int
    """Folders that are renamed only in part."""

    @property
    def nothing(self) -> bool:
        return not (self.mounted or self.staged or self.aside or self.uploads or self.moves)

    @property
    def problems(self) -> Iterator[str]:
        """In words, with what to do."""
        again = f"mount {self.url} at {self.place} again, and it goes on" if self.place else "see its log"
        if not self.mounted and self.staged:
            yield f"{self.staged} files were written and not uploaded, in {self.folder}/stage: {again}"
        if not self.mounted and self.uploads + self.moves:
            yield f"{self.uploads} uploads and {self.moves} renames were not finished: {again}"
        for name in self.aside:
            yield f"could not be uploaded: {self.folder}/aside/{name}: copy what you need, and remove it"


def left_behind(environ: Mapping[str, str]) -> list[Left]:
    """By all mounts, those that are mounted among them."""
    with suppress(FileNotFoundError):
        return [_left(folder) for folder in sorted(state_folders(environ).iterdir()) if folder.is_dir()]
    return []


def clear_away(left: Left) -> bool:
    """Removes a folder in which nothing is left. False if something is, or if somebody may just begin with it."""
    if not left.nothing or time.time() - left.folder.stat().st_mtime < _QUIET:
        return False
    shutil.rmtree(left.folder)
    return True


def _left(folder: Path) -> Left:
    about: Mapping[str, str] = {}
    with suppress(FileNotFoundError, ValueError):
        about = json.loads((folder / ABOUT).read_text())
    staged = _files(folder / "stage")
    return Left(
        folder,
        about.get("place", ""),
        about.get("url", ""),
        is_served(folder) or is_held(folder),
        len(staged),
        sum(staged.values()),
        _files(folder / "aside"),
        len(_files(folder / "uploads")),
        len(_files(folder / "moves")),
    )


def _files(folder: Path) -> dict[str, int]:
    """Names and bytes."""
    found: dict[str, int] = {}
    with suppress(FileNotFoundError):
        for file in sorted(folder.iterdir()):
            with suppress(FileNotFoundError):
                found[file.name] = file.stat().st_size
    return found
