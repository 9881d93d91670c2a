"""Times, as people write them."""

from __future__ import annotations

import re
from datetime import timedelta

from paddleflow.pipeline.dsl.names import refused

Duration = str | int | float | timedelta
"""Seconds, a timedelta, or text such as ``90s``, ``10m`` or ``1h30m``."""

_TEXT = re.compile(r"(?=.)(\d+h)?(\d+m)?(\d+s)?|\d+")


def duration(what: str, time: Duration) -> str | int | float:
    """The time as the language writes it; raises if it is none."""
    if isinstance(time, timedelta):
        time = time.total_seconds()
    if isinstance(time, str):
        if not _TEXT.fullmatch(time):
            raise refused(f"{what} cannot be {time!r}: write seconds, or as in 90s, 10m or 1h30m")
        return int(time) if time.isdecimal() else time
    if isinstance(time, bool) or time < 0:
        raise refused(f"{what} cannot be {time!r}: it has to be a number of seconds")
    return int(time) if time == int(time) else time
