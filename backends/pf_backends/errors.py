"""How backends fail: as Python's own errors of files, which have a number that every kernel understands.

Missing things are FileNotFoundError, and so on for FileExistsError, PermissionError, NotADirectoryError and
IsADirectoryError. Each is made by `failure`, with the path and the backend's own words. Others are defined here.
"""

from __future__ import annotations

import errno


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


def failure(number: int, path: str, why: str) -> OSError:
    """The error of this number in Python's own class for it."""
    return OSError(number, why, path)
