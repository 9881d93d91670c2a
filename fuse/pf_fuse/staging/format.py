"""In which way it is written down what a mount leaves in its folder: an older version must not take it for another."""

from __future__ import annotations

import errno
from pathlib import Path

FORMAT = 1
"""To be one more whenever a version before could not read what is written down, or would read it as something else."""
_MARK = "format"


def require_known(folder: Path) -> None:
    """EPROTO if a newer version has written what is there. Folders without a mark are of versions before it."""
    try:
        written = int((folder / _MARK).read_text())
    except FileNotFoundError:
        return
    if written > FORMAT:
        todo = "mount with that version once more, which uploads it, or remove the folder with all of that"
        raise OSError(
            errno.EPROTO,
            f"a newer version has written what is left here (format {written} of {FORMAT}): {todo}",
            folder,
        )


def begin_in(folder: Path) -> None:
    """From now on what is there is of this version; fails as `require_known`."""
    require_known(folder)
    file = folder / _MARK
    text = str(FORMAT)
    if not file.exists() or file.read_text() != text:
        beside = file.with_suffix(".new")
        beside.write_text(text)
        beside.rename(file)
