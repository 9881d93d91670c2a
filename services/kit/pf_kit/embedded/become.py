"""Becomes another program: takes a lock, gives up root, asks for a signal when the parent dies, and executes it.

A script of its own rather than a `preexec_fn`, which may deadlock where the parent has threads. The signal is asked for
after the change of user, which would clear it. The lock is held by an open file that the program inherits, and its
children from it, so it is free when the last of them is gone, in whatever container they run.

Usage: become.py UID GID PARENT_PID SIGNAL LOCK PROGRAM [ARGUMENT…]; LOCK is a file, or empty.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import sys

PR_SET_PDEATHSIG = 1
"""From <linux/prctl.h>."""


def hold(lock: str) -> None:
    handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
    os.set_inheritable(handle, True)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit(f"another program holds {lock}, maybe in another container; stop that first")


def become(uid: int, gid: int, parent: int, death_signal: int, argv: list[str]) -> None:
    if os.geteuid() != uid:
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)
    os.umask(0o077)
    # Ignored signals stay ignored across execution: Python ignores SIGPIPE, a shell SIGINT for what runs behind it.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, death_signal, 0, 0, 0) != 0:
        sys.exit(f"cannot be tied to the parent: {os.strerror(ctypes.get_errno())}")
    if os.getppid() != parent:
        sys.exit("the parent died meanwhile")
    os.execv(argv[0], argv)  # noqa: S606 - this is the whole purpose


if __name__ == "__main__":
    user, group, mother, last_signal = map(int, sys.argv[1:5])
    if sys.argv[5]:
        hold(sys.argv[5])
    become(user, group, mother, last_signal, sys.argv[6:])
