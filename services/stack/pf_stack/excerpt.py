"""The end of a log, short enough for an error message."""

from __future__ import annotations

import json
import re
from pathlib import Path

LINES = 8
NAMED = re.compile(r"^[ |]*((?:\w+\.)*[A-Z]\w*[a-z]\w*(?:: .*)?)$", re.MULTILINE)
"""A line of a traceback, maybe inside of a group's frame, that begins with the name of a class."""
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
    """The exception itself: its class and the first line of what it says."""
    named = NAMED.findall(exception)
    return named[-1] if named else ""
