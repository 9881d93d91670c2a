"""The words in a box, and how much room they take."""

from __future__ import annotations

from unicodedata import east_asian_width

from pf_pipeline.drawings.graph import Box, duration

LINE = 17.0
"""Pixels from one line to the next."""
LETTER = 7.3
"""Pixels of a letter; all have the same width, and those of East Asia twice that."""
LONGEST = 40
"""Letters of a line; the rest is left out."""


def lines(box: Box) -> tuple[str, ...]:
    """The name, the state with the time it took, and each mark."""
    took = "" if box.seconds is None else duration(box.seconds)
    told = (box.name, " ".join(filter(None, (box.state, took))), *box.marks)
    return tuple(shortened(text) for text in told if text) or ("",)


def shortened(text: str) -> str:
    """On one line, and not too long. What no picture can show is shown as unknown."""
    plain = "".join(letter if letter.isprintable() else " " if letter.isspace() else "\ufffd" for letter in text)
    return plain if len(plain) <= LONGEST else f"{plain[: LONGEST - 1]}\u2026"


def width(text: str) -> float:
    """Pixels."""
    return sum(LETTER * (2 if east_asian_width(letter) in "WF" else 1) for letter in text)
