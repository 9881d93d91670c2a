"""What goes wrong over SSH."""

from __future__ import annotations

import errno
from collections.abc import Mapping

import asyncssh

from pf_backends.errors import failure, unreachable, unsupported

SAID = (asyncssh.Error, asyncssh.SFTPError, OSError)
"""What goes wrong over SSH; errors of the socket below it come as they are."""
_LOST = (asyncssh.SFTPConnectionLost, asyncssh.SFTPNoConnection, asyncssh.DisconnectError)
_REFUSED = (asyncssh.PermissionDenied, asyncssh.HostKeyNotVerifiable)
_NUMBERS: Mapping[type[Exception], int] = {
    asyncssh.SFTPNoSuchFile: errno.ENOENT,
    asyncssh.SFTPNoSuchPath: errno.ENOENT,
    asyncssh.SFTPPermissionDenied: errno.EACCES,
    asyncssh.SFTPWriteProtect: errno.EROFS,
    asyncssh.SFTPFileAlreadyExists: errno.EEXIST,
    asyncssh.SFTPDirNotEmpty: errno.ENOTEMPTY,
    asyncssh.SFTPNotADirectory: errno.ENOTDIR,
    asyncssh.SFTPFileIsADirectory: errno.EISDIR,
    asyncssh.SFTPNoSpaceOnFilesystem: errno.ENOSPC,
    asyncssh.SFTPQuotaExceeded: errno.EDQUOT,
    asyncssh.SFTPInvalidFilename: errno.EINVAL,
    asyncssh.SFTPLinkLoop: errno.ELOOP,
    asyncssh.SFTPFailure: errno.EIO,
}


def is_lost(error: Exception) -> bool:
    """True if the connection is gone, as happens when a server is restarted."""
    if isinstance(error, OSError):
        # What is told of files has a path, and what a socket says has none.
        return error.filename is None
    return isinstance(error, _LOST) and not isinstance(error, _REFUSED)


def failed(path: str, error: Exception) -> OSError:
    """The same in terms of files."""
    if isinstance(error, OSError):
        return unreachable(path, error.strerror or type(error).__name__) if is_lost(error) else error
    if isinstance(error, asyncssh.PermissionDenied):
        return failure(errno.EACCES, path, f"the server lets that user not in: {error.reason}")
    if isinstance(error, asyncssh.HostKeyNotVerifiable):
        return failure(errno.EACCES, path, "the server has another key than was told, or than before")
    if isinstance(error, asyncssh.SFTPOpUnsupported):
        return unsupported(path, "the server cannot do that")
    number = _NUMBERS.get(type(error))
    if number is not None and isinstance(error, asyncssh.SFTPError):
        return failure(number, path, error.reason)
    return unreachable(path, str(error) or type(error).__name__)
