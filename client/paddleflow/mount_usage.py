"""What the cache of a mount holds and has done, as the filesystem service wants to be told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def usage_of(stats: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields of a CacheUsage, of what whoever serves a mount says of how it is doing.

    What the kernel reads by itself nobody counts. Counts begin anew with each process that serves the mount.
    """
    folders, counts = stats["cache"]["folders"], stats["fetching"]["counts"]
    return {
        "folders": [each["path"] for each in folders],
        "used_bytes": sum(each["bytes"] for each in folders),
        "capacity_bytes": sum(each["most"] for each in folders),
        "files": sum(each["files"] for each in folders),
        "hit_bytes": counts["whole"] + counts["asked"] - counts["waited"],
        "missed_bytes": counts["waited"],
    }
