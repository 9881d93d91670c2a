"""What an administrator has mounted on the machine, and where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from pf_fs.domain import Kind
from pf_fs.urls import Place, place_of, url_violations


@dataclass(frozen=True, slots=True)
class Mounted:
    """Places and the folders where they are mounted."""

    places: tuple[tuple[Place, PurePosixPath], ...]

    def folder(self, place: Place) -> PurePosixPath | None:
        """Where a place is mounted, by itself or with one around it, the nearest first; None if it is nowhere."""
        around = [each for each in self.places if _is_around(each[0], place)]
        if not around:
            return None
        nearest, folder = max(around, key=lambda each: len(each[0].path.parts))
        return folder / place.path.relative_to(nearest.path)


NOTHING_MOUNTED = Mounted(())


def mounted_of(words: Sequence[str]) -> Mounted:
    """What an administrator wrote: ``cfs://host/path=/folder``, and so on. Raises ValueError."""
    return Mounted(tuple(map(_one, words)))


def _one(word: str) -> tuple[Place, PurePosixPath]:
    url, equals, folder = word.rpartition("=")
    if not equals or not folder.startswith("/") or ".." in folder.split("/"):
        raise ValueError(f"{word!r} must be a URL, '=', and an absolute folder without '..'")
    if wrong := [each.description for each in url_violations("", url)]:
        raise ValueError(f"{url!r} {wrong[0]}")
    place = place_of(url)
    if place.kind is Kind.LOCAL or place.kind.remote:
        raise ValueError(f"{url!r} is of a kind that is not mounted by the administrator")
    return place, PurePosixPath(folder)


def _is_around(outer: Place, inner: Place) -> bool:
    same = (outer.kind, outer.authority) == (inner.kind, inner.authority)
    return same and inner.path.is_relative_to(outer.path)
