"""Folders of a filesystem in which the files of other places are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import PurePosixPath

from pf_fs.domain import SEALED_NOTHING, Kind, Secrets, owner_of
from pf_kit.changes import UNBORN

MOST_LINKS = 100
"""Of one filesystem."""


def bound_to(filesystem_id: str, path: PurePosixPath) -> tuple[str, ...]:
    """What the secrets of a link are sealed for."""
    return ("link", filesystem_id, str(path))


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A folder of a filesystem in which the files of another place are. Fulfils `Placed`."""

    filesystem_id: str
    path: PurePosixPath
    """Where in the filesystem: relative."""
    url: str
    kind: Kind
    folder: PurePosixPath | None
    confined: bool
    properties: Mapping[str, str] = field(default_factory=dict)
    secrets: Secrets = SEALED_NOTHING
    create_time: datetime = UNBORN

    @property
    def called(self) -> str:
        return f"the link {self.path} of {self.filesystem_id}"

    @property
    def owner(self) -> str:
        return owner_of(self.filesystem_id)

    @property
    def bound_to(self) -> tuple[str, ...]:
        return bound_to(self.filesystem_id, self.path)


def in_the_way(path: PurePosixPath, links: Iterable[Link]) -> Link | None:
    """A link that lies at a path, around it or in it: none may."""
    return next((each for each in links if path.is_relative_to(each.path) or each.path.is_relative_to(path)), None)


def around(path: PurePosixPath, links: Iterable[Link]) -> Link | None:
    """The link in which a path lies, or which is there itself."""
    return next((each for each in links if path.is_relative_to(each.path)), None)


def below(path: PurePosixPath, links: Iterable[Link]) -> Sequence[tuple[PurePosixPath, Link]]:
    """The links in a folder, and where in it they are."""
    return [(each.path.relative_to(path), each) for each in links if each.path.is_relative_to(path)]
