"""In which way it is written down what a mount leaves in its folder: an older version must not take it for another."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from pf_fuse.staging.disk import sync_folder

FORMAT = 1
"""To be one more whenever a version before could not read what is written down, or would read it as something else."""
_MARK = "format"
_LONGEST = 20
"""Characters of a mark that are looked at."""


def require_known(folder: Path) -> None:
    """EPROTO if a newer version has written what is there, or a mark says what none does.

    Folders without a mark are of versions before it; one that is empty the machine went down before it was written.
    """
    written = _written(folder / _MARK)
    if not (written.isdecimal() and int(written) <= FORMAT):
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
        with beside.open("w") as mark:
            mark.write(text)
            mark.flush()
            os.fsync(mark.fileno())
        beside.rename(file)
        sync_folder(folder)


def _written(mark: Path) -> str:
    """The format that it tells."""
    try:
        return mark.read_text(errors="replace")[:_LONGEST].strip("\0 \n") or str(FORMAT)
    except FileNotFoundError:
        return str(FORMAT)
