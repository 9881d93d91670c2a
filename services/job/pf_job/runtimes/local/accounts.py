"""The name and the home of the user that a replica runs as. Many programs look for them, and fail without."""

from __future__ import annotations

import os
import pwd
import re

SYSTEM = "/etc/passwd"
"""The users of the machine, as everybody reads them."""
HOME = "/tmp"  # noqa: S108 - the replica's own
_STRANGE = re.compile(r"[^A-Za-z0-9._-]")


class Accounts:
    """For each user that replicas run as, the users of the machine and this one, in a file of the data folder."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        os.makedirs(folder, 0o700, exist_ok=True)

    def file(self, uid: int, tenant: str) -> str:
        """The path of the file. It is written anew if the machine's users changed. Raises OSError."""
        path = f"{self._folder}/{uid}"
        changed = os.stat(SYSTEM).st_mtime_ns
        if _written(path) != changed:
            self._write(path, line(uid, tenant), changed)
        return path

    def _write(self, path: str, own: bytes, changed: int) -> None:
        partial = f"{path}.partial"
        with open(SYSTEM, "rb") as system, open(partial, "wb") as file:
            users = system.read()
            file.write(users if users.endswith(b"\n") or not users else users + b"\n")
            file.write(own)
        os.chmod(partial, 0o644)
        os.utime(partial, ns=(changed, changed))
        os.rename(partial, path)


def _written(path: str) -> int | None:
    """Of which time what it holds is; None if it is not there."""
    try:
        return os.stat(path).st_mtime_ns
    except FileNotFoundError:
        return None


def home_of(uid: int) -> str | None:
    """The home of a user of the machine; None if the machine does not know the user, as in containers."""
    try:
        return pwd.getpwuid(uid).pw_dir
    except KeyError:
        return None


def line(uid: int, tenant: str) -> bytes:
    """Its name is not one that the machine may have."""
    return f"pf-{_STRANGE.sub('_', tenant)}:x:{uid}:{uid}::{HOME}:/bin/sh\n".encode()
