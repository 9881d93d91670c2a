"""What was published where, on the disk: it outlives the process, and the machine."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields
from hashlib import blake2b
from pathlib import Path

from pf_csi.node.domain import Entry

_NEW = ".new"
_UNREAD = ".unread"
_FIELDS = [field.name for field in fields(Entry)]

logger = logging.getLogger(__name__)


class Journal:
    """One small file for each target. Writing blocks until the disk has it; reading does not."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder = folder
        self._entries = {entry.target: entry for entry in self._read()}

    @property
    def entries(self) -> Sequence[Entry]:
        return list(self._entries.values())

    def at(self, target: str) -> Entry | None:
        return self._entries.get(target)

    def uses(self, key: str) -> bool:
        """Whether the mount of the key is at any target, as far as is written down."""
        return any(entry.key == key for entry in self.entries)

    def write(self, entry: Entry) -> None:
        """Readers see what was there before, or all of it, also after a loss of power."""
        path = self._path(entry.target)
        new = path.with_suffix(_NEW)
        with new.open("w") as file:
            file.write(json.dumps(asdict(entry)))
            file.flush()
            os.fsync(file.fileno())
        new.rename(path)
        self._settle()
        self._entries[entry.target] = entry

    def remove(self, target: str) -> None:
        """Nothing if it is not known."""
        self._path(target).unlink(missing_ok=True)
        self._settle()
        self._entries.pop(target, None)

    def _path(self, target: str) -> Path:
        """Its name has nothing of what somebody else has chosen."""
        return self._folder / f"{blake2b(os.fsencode(target), digest_size=16).hexdigest()}.json"

    def _settle(self) -> None:
        folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def _read(self) -> Iterator[Entry]:
        """What a crash has left beside a file is of something that was not done.

        Another version may say more of an entry than this one knows of. What cannot be read is put aside, and what is
        mounted is recalled by the kernel's list.
        """
        for path in self._folder.glob(f"*{_NEW}"):
            path.unlink()
        for path in self._folder.glob("*.json"):
            try:
                told = json.loads(path.read_bytes())
                yield Entry(**{name: told[name] for name in _FIELDS if name in told})
            except (ValueError, TypeError):
                logger.exception("what was published cannot be read, and is put aside", extra={"file": path.name})
                path.rename(path.with_suffix(_UNREAD))
