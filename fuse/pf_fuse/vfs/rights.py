"""Rights that a program has from its file, which whoever writes to that takes away."""

from __future__ import annotations

import os
import stat

from pf_fuse.vfs.nodes import Node

_RIGHTS = stat.S_ISUID | stat.S_ISGID


def rights_to_take(node: Node) -> int:
    """Those of another user or group that a program has which somebody writes to."""
    mode = node.entry.mode or 0
    return mode & (_RIGHTS if mode & stat.S_IXGRP else stat.S_ISUID)


def only_writes(node: Node, flags: int) -> bool:
    """True if who opens a file so cannot read it, and the kernel's cache does nothing for who writes past it.

    It syncs after each write what is opened to be synced, and takes rights away from programs that somebody writes to.
    """
    return flags & (os.O_ACCMODE | os.O_DSYNC) == os.O_WRONLY and not (node.entry.mode or 0) & _RIGHTS
