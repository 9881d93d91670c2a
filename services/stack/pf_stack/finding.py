"""What an examination of an installation finds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Grade(StrEnum):
    """How bad it is."""

    GOOD = "good"
    NOTE = "note"
    """Good to know; nothing has to be done."""
    BAD = "bad"
    """Must be mended before the stack runs well."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    grade: Grade
    what: str
    remedy: str = ""
    """The command that mends it, or a sentence where there is none."""


def good(what: str) -> Finding:
    return Finding(Grade.GOOD, what)


def note(what: str, remedy: str) -> Finding:
    return Finding(Grade.NOTE, what, remedy)


def bad(what: str, remedy: str) -> Finding:
    return Finding(Grade.BAD, what, remedy)
