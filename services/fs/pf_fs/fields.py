"""What fields may hold: functions that yield a violation for each thing wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator

from paddleflow.problems import Violation
from pf_fs.domain import Key, Quota
from pf_kit.fields import within

LONGEST_TOGETHER = 59
"""Characters of an owner's and a filesystem's name, so that an id has at most 63."""
MOST_OF_A_QUOTA = 2**53
_NAME = re.compile(r"[A-Za-z0-9_-]{1,63}")
_USER = re.compile(r"[A-Za-z0-9]{4,16}")
_ID = re.compile(r"fs-[A-Za-z0-9]{4,16}-[A-Za-z0-9_-]{1,55}")


def is_user(name: str) -> bool:
    """True if a user can have this name."""
    return _USER.fullmatch(name) is not None


def is_id(text: str) -> bool:
    """True if a filesystem can have this id."""
    return _ID.fullmatch(text) is not None


def name_violations(owner: str, name: str) -> Iterator[Violation]:
    """The name of a new filesystem, and whose it is."""
    if not is_user(owner):
        yield Violation("filesystem.owner", "must be the name of a user: 4 to 16 letters and digits")
    if not _NAME.fullmatch(name):
        yield Violation("filesystem.name", "must be 1 to 63 letters, digits, '_' and '-'")
    elif len(owner) + len(name) > LONGEST_TOGETHER:
        rule = f"must have at most {LONGEST_TOGETHER} characters together with the owner's name"
        yield Violation("filesystem.name", f"{rule}, and they have {len(owner) + len(name)}")


def quota_violations(quota: Quota) -> Iterator[Violation]:
    """How much is to be allowed."""
    yield from within("filesystem.quota.bytes", quota.bytes, 0, MOST_OF_A_QUOTA)
    yield from within("filesystem.quota.files", quota.files, 0, MOST_OF_A_QUOTA)


def key_violations(key: Key) -> Iterator[Violation]:
    """How a caller names a filesystem."""
    if key.id and (key.owner or key.name):
        yield Violation("filesystem.id", "says all: give it without owner and name, or give these without it")
    elif not key.id and not key.name:
        yield Violation("filesystem", "must be named, by its id or by its name")


def filter_violations(field: str, word: str) -> Iterator[Violation]:
    """A word to list by."""
    if word and not _NAME.fullmatch(word):
        yield Violation(field, "must be letters, digits, '_' and '-', at most 63")
