"""Where what belongs to replicas lies, below the data folder of a runner.

A replica has the folder `replicas/JOB/ATTEMPT/ROLE-INDEX-RESTART`, and that path below `replicas` is its name.
"""

from __future__ import annotations

import re

REPLICAS = "replicas"
ROOT = "root"
"""An empty folder on which each replica mounts a root of its own."""
LOCK = "lock"
SOCKET = "socket"
TENANTS = "tenants"
RUNNER_LOG = "runner.log"

RECORD = "record"
"""All that is known of a replica, line by line. Without the first, nothing was ever started here."""
LOG = "log"
INDEX = "log.index"
USAGE = "usage"
"""What it was seen to use."""
SLOTS = "tmp"
"""Folders for temporary files, each of which one replica has at a time."""

WORD = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
NAME = re.compile(rf"({WORD})/(0|[1-9][0-9]{{0,9}})/({WORD})-(0|[1-9][0-9]{{0,9}})-(0|[1-9][0-9]{{0,9}})")


def compose(job: str, attempt: int, role: str, index: int, restart: int) -> str | None:
    """The name of a replica; None if one of these cannot be part of a path."""
    name = f"{job}/{attempt}/{role}-{index}-{restart}"
    return name if NAME.fullmatch(name) and "/" not in job + role else None


def decompose(name: str) -> tuple[str, int, str, int, int] | None:
    """Job, attempt, role, index and restart; None if it is no name of a replica."""
    found = NAME.fullmatch(name)
    if found is None:
        return None
    job, attempt, role, index, restart = found.groups()
    return job, int(attempt), role, int(index), int(restart)
