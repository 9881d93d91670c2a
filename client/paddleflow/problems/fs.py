"""Problems with filesystems."""

from __future__ import annotations

from paddleflow.problems.base import (
    Aborted,
    AlreadyExists,
    FailedPrecondition,
    InvalidArgument,
    NotFound,
    PermissionDenied,
    ResourceExhausted,
)


class FilesystemNotFound(NotFound):
    """No filesystem of this name."""

    reason = "FILESYSTEM_NOT_FOUND"


class FilesystemExists(AlreadyExists):
    """The owner has a filesystem of this name."""

    reason = "FILESYSTEM_EXISTS"


class FilesystemNotGranted(PermissionDenied):
    """The filesystem is not shared with the caller."""

    reason = "FILESYSTEM_NOT_GRANTED"


class FilesystemAmbiguous(FailedPrecondition):
    """Several filesystems of this name are shared with the caller; name the owner too."""

    reason = "FILESYSTEM_AMBIGUOUS"


class FilesystemReadOnly(PermissionDenied):
    """The filesystem is shared for reading only."""

    reason = "FILESYSTEM_READ_ONLY"


class FilesystemKindNotServed(InvalidArgument):
    """The URL is of a kind that is not served."""

    reason = "FILESYSTEM_KIND_NOT_SERVED"


class FilesystemGrantNotFound(NotFound):
    """The filesystem is not shared with this user."""

    reason = "FILESYSTEM_GRANT_NOT_FOUND"


class UserIsOwner(FailedPrecondition):
    """The user owns the filesystem, and may do everything with it."""

    reason = "USER_IS_OWNER"


class FolderNotAllowed(PermissionDenied):
    """The folder is forbidden, or not one of those for users."""

    reason = "FOLDER_NOT_ALLOWED"


class FolderUnusable(FailedPrecondition):
    """The folder does not exist, is none, or cannot be reached."""

    reason = "FOLDER_UNUSABLE"


class PathEscapes(PermissionDenied):
    """The path leads out of the filesystem."""

    reason = "PATH_ESCAPES"


class FileNotFound(NotFound):
    """There is nothing at the path."""

    reason = "FILE_NOT_FOUND"


class FileUnusable(FailedPrecondition):
    """The file is of the wrong kind, or the machine does not permit what is asked."""

    reason = "FILE_UNUSABLE"


class ServerNotAllowed(PermissionDenied):
    """A server has an address that is not public, and that the administrator does not allow."""

    reason = "SERVER_NOT_ALLOWED"


class ServerUnusable(FailedPrecondition):
    """A server cannot be reached, or refuses what is asked of it."""

    reason = "SERVER_UNUSABLE"


class SecretsUnreadable(FailedPrecondition):
    """The service does not have the key that the secrets are sealed with."""

    reason = "SECRETS_UNREADABLE"


class FilesystemMounted(FailedPrecondition):
    """The filesystem is mounted."""

    reason = "FILESYSTEM_MOUNTED"


class TooManyMounts(ResourceExhausted):
    """The user has as many mounts of the filesystem as there may be."""

    reason = "TOO_MANY_MOUNTS"


class FilesystemCacheNotFound(NotFound):
    """Nothing was said about the cache of the filesystem."""

    reason = "FILESYSTEM_CACHE_NOT_FOUND"


class LinkNotFound(NotFound):
    """There is no link at the path."""

    reason = "LINK_NOT_FOUND"


class LinkExists(AlreadyExists):
    """There is a link at the path, above it or below it."""

    reason = "LINK_EXISTS"


class LinkNotPossible(FailedPrecondition):
    """No link can be at the path, or in the filesystem at all."""

    reason = "LINK_NOT_POSSIBLE"


class TooManyLinks(ResourceExhausted):
    """The filesystem has as many links as there may be."""

    reason = "TOO_MANY_LINKS"


class FileExists(AlreadyExists):
    """There is something at the path already."""

    reason = "FILE_EXISTS"


class FileChanged(Aborted):
    """The file is another one by now."""

    reason = "FILE_CHANGED"
