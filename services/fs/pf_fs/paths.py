"""Paths, as callers write them. Nothing here looks at a disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from paddleflow.problems import Violation

LONGEST_PATH = 4095
"""Bytes; the kernel's limit."""
LONGEST_NAME = 255
"""Bytes of one part of a path; the limit of most filesystems."""


def sub_path(text: str) -> PurePosixPath:
    """The relative path that has no violations, without doubled slashes and single dots."""
    return PurePosixPath(*parts_of(text))


def sub_path_violations(field: str, path: str) -> Iterator[Violation]:
    """A folder in a filesystem."""
    if path.startswith("/"):
        yield Violation(field, "must be relative: it begins in the filesystem")
    yield from path_violations(field, path)


def parts_of(path: str) -> list[str]:
    """The names in a path, without doubled slashes and single dots."""
    return [part for part in path.split("/") if part not in ("", ".")]


def path_violations(field: str, path: str) -> Iterator[Violation]:
    """What is wrong with any path."""
    if ".." in parts_of(path):
        yield Violation(field, "must not contain '..'")
    if not path.isprintable():
        yield Violation(field, "must not contain control characters, or others that do not show")
    if len(path.encode()) > LONGEST_PATH:
        yield Violation(field, f"must have at most {LONGEST_PATH} bytes")
    elif any(len(part.encode()) > LONGEST_NAME for part in parts_of(path)):
        yield Violation(field, f"must have at most {LONGEST_NAME} bytes between two slashes")
