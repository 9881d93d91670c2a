"""Where files come from and where they go."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from paddleflow.models.files import FileInfo
    from paddleflow.sync.files import Files

_REMOTE = re.compile(r"(?:([A-Za-z0-9]{4,16})/)?([A-Za-z0-9_-]{1,63}):(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Remote:
    """A path in a filesystem."""

    name: str
    """Of the filesystem."""
    path: str
    owner: str = ""

    def __str__(self) -> str:
        whose = f"{self.owner}/" if self.owner else ""
        return f"{whose}{self.name}:{self.path}"

    def below(self, path: str) -> Remote:
        """Something in the folder."""
        return Remote(self.name, f"{self.path}/{path}".strip("/"), self.owner)

    @property
    def last(self) -> str:
        """The name of what lies there."""
        return self.path.rpartition("/")[2] or self.name


def remote_of(text: str) -> Remote | None:
    """What ``FSNAME:PATH`` or ``OWNER/FSNAME:PATH`` names; None if it is a path of this machine."""
    if (match := _REMOTE.fullmatch(text)) is None:
        return None
    return Remote(match[2], "/".join(part for part in match[3].split("/") if part not in ("", ".")), match[1] or "")


class Source(Protocol):
    """Bytes that are to be sent; any of them, by several threads."""

    @property
    def size(self) -> int: ...

    @property
    def mark(self) -> str:
        """Another one as soon as the bytes may be others."""

    def read(self, offset: int, length: int) -> bytes:
        """A piece; as much as is asked for but at the end."""


class LocalSource:
    """A file of this machine."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen = path.stat()

    @property
    def size(self) -> int:
        return self._seen.st_size

    @property
    def mark(self) -> str:
        seen = self._path.stat()
        return f"{self._path.absolute()}\0{seen.st_ino}\0{seen.st_size}\0{seen.st_mtime_ns}"

    def read(self, offset: int, length: int) -> bytes:
        with self._path.open("rb") as file:
            return os.pread(file.fileno(), length, offset)


class RemoteSource:
    """A file of a filesystem, in one version."""

    def __init__(self, files: Files, place: Remote, info: FileInfo) -> None:
        self._files = files
        self._place = place
        self._info = info

    @property
    def size(self) -> int:
        return self._info.size

    @property
    def mark(self) -> str:
        return f"{self._place}\0{self._info.version}"

    def read(self, offset: int, length: int) -> bytes:
        from paddleflow.sync.files import MOST_BYTES  # noqa: PLC0415 -- loads gRPC

        place, pieces, end = self._place, list[bytes](), min(offset + length, self._info.size)
        while offset < end:
            count = min(MOST_BYTES, end - offset)
            piece = self._files.read(
                place.name, place.path, offset, count, owner=place.owner, version=self._info.version
            )
            pieces.append(piece)
            offset += count
        return b"".join(pieces)
