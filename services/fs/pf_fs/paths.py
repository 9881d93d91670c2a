"""URLs and paths, as callers write them. Nothing here looks at a disk."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from paddleflow.problems import Violation
from pf_fs.domain import Kind

LONGEST_PATH = 4095
"""Bytes; the kernel's limit."""
LONGEST_NAME = 255
"""Bytes of one part of a path; the limit of most filesystems."""
_URL = re.compile(r"([a-z][a-z0-9+.-]{0,31})://(.*)", re.DOTALL)


def scheme_of(url: str) -> str:
    """What a URL begins with; empty if it is none."""
    match = _URL.fullmatch(url)
    return match[1] if match else ""


def is_served(scheme: str) -> bool:
    return scheme in tuple(Kind)


def local_folder(url: str) -> PurePosixPath:
    """The folder of a local URL that has no violations, without doubled slashes and single dots."""
    return PurePosixPath("/", *_parts(_path_of(url)))


def local_url(folder: PurePosixPath) -> str:
    return f"{Kind.LOCAL}://{folder}"


def sub_path(text: str) -> PurePosixPath:
    """The relative path that has no violations, without doubled slashes and single dots."""
    return PurePosixPath(*_parts(text))


def url_violations(field: str, url: str) -> Iterator[Violation]:
    """Where a new filesystem lies."""
    scheme = scheme_of(url)
    if not scheme:
        yield Violation(field, "must be a URL, as in local:///data/images")
    elif not is_served(scheme):
        yield Violation(field, f"{scheme} is not served; served are: {', '.join(Kind)}")
    elif not _path_of(url).startswith("/"):
        yield Violation(field, "must hold an absolute path, as in local:///data/images")
    else:
        yield from _path_violations(field, _path_of(url))
        if not _parts(_path_of(url)):
            yield Violation(field, "must not be the root of the machine")


def sub_path_violations(field: str, path: str) -> Iterator[Violation]:
    """A folder in a filesystem."""
    if path.startswith("/"):
        yield Violation(field, "must be relative: it begins in the filesystem")
    yield from _path_violations(field, path)


def _path_of(url: str) -> str:
    return url.partition("://")[2]


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]


def _path_violations(field: str, path: str) -> Iterator[Violation]:
    if ".." in _parts(path):
        yield Violation(field, "must not contain '..'")
    if not path.isprintable():
        yield Violation(field, "must not contain control characters, or others that do not show")
    if len(path.encode()) > LONGEST_PATH:
        yield Violation(field, f"must have at most {LONGEST_PATH} bytes")
    elif any(len(part.encode()) > LONGEST_NAME for part in _parts(path)):
        yield Violation(field, f"must have at most {LONGEST_NAME} bytes between two slashes")
