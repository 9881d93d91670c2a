"""Small files that are whole at every moment and belong to nobody else."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_private(file: Path, content: bytes) -> None:
    """Replaces a file by one of mode 0600, on the disk before it has its name."""
    handle, name = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
    partial = Path(name)
    try:
        with os.fdopen(handle, "wb") as output:
            output.write(content)
            output.flush()
            os.fsync(output.fileno())
        partial.replace(file)
    except BaseException:
        partial.unlink()
        raise
