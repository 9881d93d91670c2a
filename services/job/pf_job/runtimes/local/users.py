"""The user that a process is, in a namespace of users of its own."""

from __future__ import annotations

import os


def map_user(uid: int, gid: int) -> None:
    """Lets this process, alone in a new namespace, be who it was before."""
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        handle = os.open(f"/proc/self/{name}", os.O_WRONLY)
        os.write(handle, text.encode())
        os.close(handle)
