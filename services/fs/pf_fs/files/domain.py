"""What can be told of files, and what became of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TypeVar

from paddleflow.problems import Problem

MOST_PATHS = 1000
"""In one call."""
MOST_READ = 1024 * 1024
"""Bytes that one call returns."""
MOST_LEVELS = 100
"""Folders in one another, of a tree that is read or removed."""

T = TypeVar("T")


class FileKind(StrEnum):
    """What lies at a path."""

    REGULAR = "regular"
    FOLDER = "folder"
    LINK = "link"
    OTHER = "other"


class DigestMode(StrEnum):
    """By what files are told apart."""

    CONTENT = "content"
    TIME = "time"


@dataclass(frozen=True, slots=True)
class Stat:
    """What is known of a file without reading it."""

    kind: FileKind
    size: int
    modify_time: datetime


@dataclass(frozen=True, slots=True)
class Range:
    """A piece of a file."""

    path: str
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class Piece:
    """What was read of a file."""

    data: bytes
    size: int
    """Of the whole file."""


@dataclass(frozen=True, slots=True)
class Digest:
    """What a file, or a folder with all in it, is told by."""

    hexadecimal: str


@dataclass(frozen=True, slots=True)
class Done:
    """A change is complete."""


@dataclass(frozen=True, slots=True)
class Pending:
    """More is left to do: the same call goes on."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with one file."""

    problem: Problem
