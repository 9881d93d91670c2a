"""Helps with names that were written wrong. What helps must not take long, whatever the document holds."""

from __future__ import annotations

from collections.abc import Collection

from paddleflow.documents.reader import nearest

_MOST_COMPARED = 100
_MOST_NAMED = 20
_LONGEST_NAME = 80


def did_you_mean(name: str, known: Collection[str]) -> str:
    """The name that is most like it, as the end of a sentence; empty if none is like it."""
    told = nearest(name, known) if 0 < len(known) <= _MOST_COMPARED else ""
    return f"; {told}" if told.startswith("did") else ""


def one_of(name: str, known: Collection[str]) -> str:
    """As `did_you_mean`; if none is like it, all that there are."""
    names = [other for other in known if len(other) <= _LONGEST_NAME] if len(known) <= _MOST_NAMED else []
    return f"; {nearest(name, names)}" if names else did_you_mean(name, known)
