"""What of an upload has arrived, so that another attempt goes on."""

from __future__ import annotations

import contextlib
import hashlib
import json
from dataclasses import asdict
from pathlib import Path

from paddleflow.models.files import FilePart, FileUpload


class Notes:
    """A file for each upload. What cannot be read is not there, what cannot be written is not kept."""

    def __init__(self, folder: Path, target: str) -> None:
        """`target` says where the file goes, on which server."""
        digest = hashlib.sha256(target.encode()).hexdigest()[:32]
        self._path = folder / f"{digest}.upload"
        self.resumed = False
        """True if something was sent before."""

    def read(self, mark: str) -> tuple[FileUpload | None, dict[int, FilePart]]:
        """The upload that was begun of just these bytes, and its parts by number."""
        try:
            first, *others = [json.loads(line) for line in self._path.read_text().splitlines()]
            if first.pop("mark") != _digest(mark):
                return None, {}
            parts = [FilePart(**each) for each in others]
            self.resumed = True
            return FileUpload(**first), {part.number: part for part in parts}
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None, {}

    def begin(self, mark: str, upload: FileUpload) -> None:
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._path.write_text(json.dumps({"mark": _digest(mark), **asdict(upload)}) + "\n")

    def add(self, part: FilePart) -> None:
        with contextlib.suppress(OSError), self._path.open("a") as file:
            file.write(json.dumps(asdict(part)) + "\n")

    def forget(self) -> None:
        self.resumed = False
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)


def _digest(mark: str) -> str:
    return hashlib.sha256(mark.encode(errors="surrogateescape")).hexdigest()
