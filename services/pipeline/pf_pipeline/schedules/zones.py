"""Time zones, by their names."""

from __future__ import annotations

import re
from zoneinfo import ZoneInfo

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z0-9_+-]+){0,2}")
UTC_NAME = "UTC"


class UnknownZone(ValueError):
    """No time zone has this name."""


def zone_of(name: str) -> ZoneInfo:
    """The time zone of a name; an empty one is UTC. Raises UnknownZone."""
    wanted = name or UTC_NAME
    try:
        if len(wanted) <= 64 and _NAME.fullmatch(wanted):
            return ZoneInfo(wanted)
    except (KeyError, ValueError, OSError):
        # A folder of zones, or a file between them that is no zone.
        pass
    raise UnknownZone(f"no time zone is called {wanted[:64]!r}; write an IANA name such as Europe/Berlin, or UTC")
