"""What is set beside the bytes of a file belongs to one version of them, where a backend sets it in place."""

from __future__ import annotations

from pf_backends.entries import Condition, Entry, Facts
from pf_backends.errors import changed


def require_version(found: Entry, condition: Condition) -> None:
    """Changed if a condition does not hold of what was found."""
    if condition.absent or (condition.version and found.version != condition.version):
        raise changed(found.path, "there is another version by now")


def require_untouched(before: Entry, after: Entry, facts: Facts, condition: Condition) -> Entry:
    """What is there after it was set; Changed if others wrote meanwhile: all that makes another version is the time."""
    same = before.version == after.version if facts.modified is None else before.size == after.size
    if condition.version and not same:
        raise changed(after.path, "others wrote to it meanwhile")
    return after
