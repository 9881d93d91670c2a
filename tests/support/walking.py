"""What lies below a folder in which others make and remove things meanwhile."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def below(top: Path) -> Iterator[Path]:
    """Folders and files. What goes while it is looked at is left out, where `Path.rglob` would end with an error."""
    for folder, folders, files in os.walk(top):
        yield from (Path(folder, name) for name in (*folders, *files))


def contents(top: Path) -> Iterator[tuple[Path, bytes]]:
    """Files and what they hold."""
    for path in below(top):
        with suppress(FileNotFoundError):
            if path.is_file():
                yield path, path.read_bytes()
