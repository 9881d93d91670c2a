"""What a path is: names joined by ``/``, and `ROOT` for the folder that holds all others."""

from __future__ import annotations

import errno

from pf_backends.entries import ROOT
from pf_backends.errors import failure

_NO_NAMES = frozenset(("", ".", ".."))


def is_path(text: str) -> bool:
    """True if a file may be called so. What lies in an object store can be called anything."""
    return "\0" not in text and _NO_NAMES.isdisjoint(text.split("/"))


def file_path(path: str) -> str:
    """The path, which is not the root's. EINVAL if it is none."""
    if not is_path(path):
        raise failure(
            errno.EINVAL, path, "is no path below the top: names joined by single slashes, without '.' and '..'"
        )
    return path


def folder_path(path: str) -> str:
    """The path of a folder, which may be the root."""
    return path if path == ROOT else file_path(path)


def parent(path: str) -> str:
    """The folder that something lies in; the root lies in itself."""
    return path.rpartition("/")[0]


def joined(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def encoded(path: str) -> bytes:
    """A path for those who keep text. EILSEQ if it came from bytes that are none."""
    try:
        return path.encode()
    except UnicodeEncodeError:
        raise failure(errno.EILSEQ, ascii(path), "is not text in UTF-8, and cannot be kept here") from None
