"""How backends fail: as Python's own errors of files, which have a number that every kernel understands.

Missing things are FileNotFoundError, and so on for FileExistsError, PermissionError, NotADirectoryError and
IsADirectoryError. Each is made by `failure`, with the path and the backend's own words. Others are defined here.
"""

from __future__ import annotations

import errno
import os

_CROWDED = (errno.EMFILE, errno.ENFILE)


class Changed(OSError):
    """There is another version at the path than was asked for, or than a condition allows."""


class Unreachable(OSError):
    """The backend does not answer, or not as it should; another attempt may succeed."""


class Unsupported(OSError):
    """The backend cannot do that, whatever is done."""


class Malformed(ValueError):
    """The address or the settings of a backend cannot be right; the text says which and why."""


def changed(path: str, why: str) -> Changed:
    return Changed(errno.ESTALE, why, path)


def unreachable(path: str, why: str) -> Unreachable:
    return Unreachable(errno.EIO, why, path)


def unsupported(path: str, why: str) -> Unsupported:
    return Unsupported(errno.ENOTSUP, why, path)


def is_crowded(error: OSError) -> bool:
    """True if too many files are open here: that passes, as if a machine did not answer for a while."""
    return error.errno in _CROWDED


def why_unconnected(error: OSError) -> str:
    """What is told of a machine that could not be connected to; not all of it is that machine's fault."""
    if is_crowded(error):
        return "too many files are open here"
    return os.strerror(error.errno) if error.errno else str(error) or "does not answer"


def failure(number: int, path: str, why: str) -> OSError:
    """The error of this number in Python's own class for it."""
    return OSError(number, why, path)
