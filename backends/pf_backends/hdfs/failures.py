"""What goes wrong with name nodes: they tell of exceptions in Java."""

from __future__ import annotations

import errno
from collections.abc import Mapping

from pf_backends.errors import failure, unreachable, unsupported

_NUMBERS: Mapping[str, int] = {
    "FileNotFoundException": errno.ENOENT,
    "AccessControlException": errno.EACCES,
    "AuthorizationException": errno.EACCES,
    "FileAlreadyExistsException": errno.EEXIST,
    "ParentNotDirectoryException": errno.ENOTDIR,
    "PathIsNotDirectoryException": errno.ENOTDIR,
    "PathIsNotEmptyDirectoryException": errno.ENOTEMPTY,
    "NSQuotaExceededException": errno.EDQUOT,
    "DSQuotaExceededException": errno.EDQUOT,
    "QuotaByStorageTypeExceededException": errno.EDQUOT,
    "InvalidPathException": errno.EINVAL,
    "UnresolvedPathException": errno.ELOOP,
    "PathComponentTooLongException": errno.ENAMETOOLONG,
    "MaxDirectoryItemsExceededException": errno.ENOSPC,
    "SnapshotAccessControlException": errno.EROFS,
    "AlreadyBeingCreatedException": errno.EBUSY,
    "RecoveryInProgressException": errno.EBUSY,
}
_ELSEWHERE = frozenset(("StandbyException", "ObserverRetryOnActiveException"))
"""Another name node can tell."""
_LATER = frozenset(("RetriableException", "ServerNotRunningException", "RpcNoSuchProtocolException"))
"""The same can tell in a moment."""
_NO_ROOM = ("could only be", "no node(s) are excluded")
"""No data node takes anything: they may not have told yet what they have. There is no exception of its own for it."""


def passes(exception: str, message: str) -> bool:
    """True if the same may be done in a moment, or by another name node."""
    return simple(exception) in _ELSEWHERE | _LATER or all(words in message for words in _NO_ROOM)


def simple(exception: str) -> str:
    """The name of a class without its package."""
    return exception.rpartition(".")[2].rpartition("$")[2]


def failed(path: str, exception: str, message: str) -> OSError:
    """The same in terms of files."""
    words = message.partition("\n")[0] or exception
    name = simple(exception)
    if name == "AccessControlException" and "SIMPLE authentication is not enabled" in message:
        return failure(
            errno.EACCES, path, "the name node wants to be shown tickets of Kerberos, of which there are none"
        )
    number = _NUMBERS.get(name)
    if number is not None:
        return failure(number, path, words)
    if name == "UnsupportedOperationException":
        return unsupported(path, words)
    return unreachable(path, words)
