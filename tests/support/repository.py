"""The project's own files, for tests that look at them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BIN = ROOT / ".venv" / "bin"


def tracked(*patterns: str) -> Iterator[Path]:
    """The files under version control, and new ones that are not ignored, that match a git pathspec."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *patterns],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    for name in listing.split("\0"):
        path = ROOT / name
        if name and path.is_file():
            yield path


def is_generated(path: Path) -> bool:
    return "_pb2" in path.name
