"""The end of a log, short enough for an error message."""

from __future__ import annotations

import json
from pathlib import Path

LINES = 8
WIDTH = 300
"""Characters shown of a line."""


def excerpt(log: Path, begin: int) -> str:
    """What was written to a log last, from a position on."""
    size = log.stat().st_size
    with log.open("rb") as file:
        # A log that was emptied meanwhile is read from its start.
        file.seek(begin if begin <= size else 0)
        lines = file.read().decode(errors="replace").splitlines()
    return "\n".join(_readable(line)[:WIDTH] for line in lines[-LINES:])


def _readable(line: str) -> str:
    """A structured line as a sentence: what happened, and the last line of the exception if there is one."""
    try:
        record = json.loads(line)
        level, message = record["level"], record["message"]
    except (ValueError, LookupError, TypeError):
        return line
    reasons = (record.get("why"), _reason(str(record.get("exception", ""))))
    return ": ".join(str(part) for part in (level, message, *reasons) if part)


def _reason(exception: str) -> str:
    """The exception itself: the last line of its traceback that says anything, without the frame of a group."""
    lines = (line.strip(" |+-") for line in reversed(exception.splitlines()))
    return next(filter(None, lines), "")
