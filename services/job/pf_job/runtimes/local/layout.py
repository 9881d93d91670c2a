"""Where what belongs to replicas lies, below the data folder of a runner.

A replica is called `JOB/ATTEMPT/ROLE-INDEX-RESTART`. It has one folder, below `replicas`, and not one in another for
each word of its name: making folders is what takes the disk longest of a start.
"""

from __future__ import annotations

import re

REPLICAS = "replicas"
ROOT = "root"
"""An empty folder on which each replica mounts a root of its own."""
LOCK = "lock"
SOCKET = "socket"
TENANTS = "tenants"
ACCOUNTS = "accounts"
RUNNER_LOG = "runner.log"

RECORD = "record"
"""All that is known of a replica, line by line. Without the first, nothing was ever started here."""
LOG = "log"
INDEX = "log.index"
USAGE = "usage"
"""What it was seen to use."""
SLOTS = "tmp"
"""Folders for temporary files, each of which one replica has at a time."""

WITHIN = "+"
"""In the name of a folder, what a slash is in that of a replica; no word holds it."""
WORD = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
NAME = re.compile(rf"({WORD})/(0|[1-9][0-9]{{0,9}})/({WORD})-(0|[1-9][0-9]{{0,9}})-(0|[1-9][0-9]{{0,9}})")


def compose(job: str, attempt: int, role: str, index: int, restart: int) -> str | None:
    """The name of a replica; None if one of these cannot be part of a path."""
    name = f"{job}/{attempt}/{role}-{index}-{restart}"
    return name if NAME.fullmatch(name) and "/" not in job + role else None


def leaf_of(name: str) -> str:
    """What folders of a replica are called."""
    return name.replace("/", WITHIN)


def name_of(leaf: str) -> str:
    """The name of the replica whose folders are called so."""
    return leaf.replace(WITHIN, "/")


def folder_of(name: str) -> str:
    """The folder of a replica, below the data folder."""
    return f"{REPLICAS}/{leaf_of(name)}"


def decompose(name: str) -> tuple[str, int, str, int, int] | None:
    """Job, attempt, role, index and restart; None if it is no name of a replica."""
    found = NAME.fullmatch(name)
    if found is None:
        return None
    job, attempt, role, index, restart = found.groups()
    return job, int(attempt), role, int(index), int(restart)
