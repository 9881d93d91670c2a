"""Where what belongs to the mount of a key lies."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkstemp
from typing import Any

_KEY = re.compile(r"[0-9a-f]{16,64}")
_NEW = ".new"
_UNFINISHED = ("stage", "uploads", "moves")
"""What a client keeps of what it has not uploaded yet."""
_ASIDE = "aside"
"""What it cannot upload."""
_LEFT = "left"
"""A file that is there while nobody uses the mount; it was made when that began."""


@dataclass(frozen=True, slots=True)
class KeyFolder:
    """The folder of one key. All of it blocks, and none of it looks into the mount."""

    path: Path
    secret: Path
    """A file in memory that nobody else may read: what the client is told, and what opens the storage."""
    client: Path | None = None
    """The folder of a client that has no rights here; None: the one who keeps the mount serves it, too."""

    @property
    def at(self) -> Path:
        """Where it is mounted."""
        return self.path / "at"

    @property
    def state(self) -> Path:
        return self.path / "state"

    @property
    def served(self) -> Path:
        """What whoever serves the mount keeps, and where it can be asked."""
        return self.client or self.state

    def make(self) -> None:
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.state.mkdir(mode=0o700, exist_ok=True)
        try:
            # Nobody but root writes where nothing is mounted.
            self.at.mkdir(mode=0o000)
        except FileExistsError:
            # It may be mounted, and looking at it would ask whoever serves it.
            return

    def remember(self, mount: Mapping[str, Any]) -> None:
        """Who reads it sees what was there before, or all of it."""
        self.secret.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # All pods of a volume may be told of new keys at once.
        descriptor, new = mkstemp(_NEW, f"{self.secret.stem}.", self.secret.parent)
        with os.fdopen(descriptor, "w") as file:
            json.dump({"answer": {"properties": mount["properties"]}, "mount": mount}, file)
        Path(new).rename(self.secret)

    def remembered(self) -> Mapping[str, Any] | None:
        """What its client is to be told; None if a reboot has forgotten it."""
        try:
            mount: Mapping[str, Any] = json.loads(self.secret.read_bytes())["mount"]
        except (OSError, ValueError, KeyError):
            return None
        return mount

    def forget(self) -> None:
        self.secret.unlink(missing_ok=True)
        for left in self.secret.parent.glob(f"{self.secret.stem}.*{_NEW}"):
            left.unlink(missing_ok=True)

    def leave(self) -> None:
        with suppress(FileNotFoundError, FileExistsError):
            (self.path / _LEFT).touch(0o600, exist_ok=False)

    def take_up(self) -> None:
        (self.path / _LEFT).unlink(missing_ok=True)

    def left_at(self) -> float | None:
        """When it was left, in seconds since 1970; None if it was not."""
        try:
            return (self.path / _LEFT).stat().st_mtime
        except FileNotFoundError:
            return None

    def is_uploaded(self) -> bool:
        """Nothing is being written, and nothing waits to be uploaded."""
        return not self._has(*_UNFINISHED)

    def remove(self) -> bool:
        """False if something is still to be uploaded: then all stays. What cannot be uploaded is kept, too."""
        if not self.is_uploaded():
            return False
        self.forget()
        if not self._has(_ASIDE) and not _has(self.state, *_UNFINISHED, _ASIDE):
            shutil.rmtree(self.state, ignore_errors=True)
            shutil.rmtree(self.served, ignore_errors=True)
            self.at.rmdir()
            (self.path / _LEFT).unlink(missing_ok=True)
            self.path.rmdir()
        return True

    def _has(self, *names: str) -> bool:
        return _has(self.served, *names)


@dataclass(frozen=True, slots=True)
class Folders:
    """Those of all keys."""

    root: Path
    secrets: Path
    clients: Path | None = None
    """Where clients have their folders; None: in that of their mount."""

    def of(self, key: str) -> KeyFolder:
        if not _KEY.fullmatch(key):
            raise ValueError("this is no key")
        client = self.clients / key if self.clients else None
        return KeyFolder(self.root / key, self.secrets / f"{key}.json", client)

    def all(self) -> Iterator[str]:
        """Keys of which something is there."""
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        return (path.name for path in sorted(self.root.iterdir()) if _KEY.fullmatch(path.name))


def _has(folder: Path, *names: str) -> bool:
    """Clients of another kind may have left something in another folder than those of today."""
    return any(any(below.iterdir()) for name in names if (below := folder / name).is_dir())
