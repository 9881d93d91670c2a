"""Which account of this machine runs the backends, and where it may go.

Postgres refuses to run as root. Accounts are only ever chosen among those that exist, and no folder above the data
folder is ever opened up: both would change the machine behind its owner's back.
"""

from __future__ import annotations

import os
import pwd
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pf_kit.embedded.refusal import Refusal

SHARED = "nobody"
"""Whoever else runs as it may read and stop the backends."""
UNPRIVILEGED = ("paddleflow", "postgres", SHARED)
"""Accounts that root gives the backends to, the first that exists."""


@dataclass(frozen=True, slots=True)
class Account:
    """A user of this machine."""

    name: str
    uid: int
    gid: int


def this_account() -> Account:
    """The account this process runs as."""
    uid = os.geteuid()
    account = _account_of(uid)
    if account is None:
        raise Refusal(
            f"user id {uid} has no entry in the user database, and Postgres does not run without one",
            "Run as a user that has a name, or as root.",
        )
    return account


def backend_account(folders: Sequence[Path]) -> Account:
    """The account that runs the backends: this one, unless it is root.

    Then it is the owner of the first of the folders that exists and is not root's, so that a data folder keeps the
    account it began with.
    """
    if os.geteuid() != 0:
        return this_account()
    owners = [_account_of(folder.stat().st_uid) for folder in folders if folder.exists()]
    named = [_account_named(name) for name in UNPRIVILEGED]
    account = next((account for account in (*owners, *named) if account is not None and account.uid != 0), None)
    if account is None:
        raise Refusal(
            "Postgres does not run as root, and there is no account paddleflow, postgres or nobody",
            "Create one: useradd --system --no-create-home paddleflow",
        )
    return account


def require_passage(folder: Path, account: Account) -> None:
    """Refuses a folder that the account cannot reach, naming the parent folder that shuts it out."""
    if _can_enter(folder, account):
        return
    shut = next((parent for parent in reversed(folder.parents) if not _can_enter(parent, account)), folder)
    raise Refusal(
        f"the account {account.name}, which runs the backends, cannot enter {shut}",
        f"Choose a data folder elsewhere with --data, for example below /var/lib, or let it pass: chmod o+x {shut}",
    )


def _can_enter(folder: Path, account: Account) -> bool:
    if account.uid == os.geteuid():
        return os.access(folder, os.X_OK)
    # Tried out rather than computed from the mode: access lists and security modules have their say too.
    tried = subprocess.run(
        ["/bin/sh", "-c", 'cd -- "$1"', "sh", str(folder)],
        cwd="/",
        check=False,
        capture_output=True,
        user=account.uid,
        group=account.gid,
        extra_groups=[],
    )
    return tried.returncode == 0


def _account_of(uid: int) -> Account | None:
    try:
        entry = pwd.getpwuid(uid)
    except KeyError:
        return None
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)


def _account_named(name: str) -> Account | None:
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        return None
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)
