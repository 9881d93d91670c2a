"""Mounting without privilege, by the program that is installed with the rights to do it.

It is told the descriptor of a socket in its environment, and sends that of the device over it.
"""

from __future__ import annotations

import errno
import os
import shutil
import socket
import subprocess
from collections.abc import Sequence

PROGRAM = "fusermount3"
SOCKET_VARIABLE = "_FUSE_COMMFD"


class HelperFailed(OSError):
    """It did not mount or unmount; the text is what it said."""


def mount_by_helper(place: str, options: Sequence[str]) -> int:
    """A descriptor of the device by which the mount is served."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        environment = os.environ | {SOCKET_VARIABLE: str(theirs.fileno())}
        _run(["-o", ",".join(options), "--", place], environment, (theirs.fileno(),))
        theirs.close()
        _, descriptors, _, _ = socket.recv_fds(ours, 1, 1)
    if not descriptors:
        raise HelperFailed(errno.EIO, f"{PROGRAM} mounted and handed nothing over", place)
    os.set_inheritable(descriptors[0], False)
    return descriptors[0]


def unmount_by_helper(place: str, detach: bool) -> None:
    _run(["-u", *(["-z"] if detach else []), "--", place], dict(os.environ), ())


def _run(arguments: Sequence[str], environment: dict[str, str], descriptors: Sequence[int]) -> None:
    program = shutil.which(PROGRAM)
    if program is None:
        raise HelperFailed(errno.EPERM, f"only root mounts without {PROGRAM}; install the package fuse3")
    command = [program, *arguments]
    done = subprocess.run(
        command, env=environment, pass_fds=descriptors, capture_output=True, text=True, errors="replace", check=False
    )
    if done.returncode != 0:
        busy = "busy" in done.stderr
        raise HelperFailed(errno.EBUSY if busy else errno.EPERM, done.stderr.strip() or f"{PROGRAM} failed")
