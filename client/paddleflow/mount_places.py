"""Where paths of this machine lead, found without asking whoever serves a mount: he may never answer."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

from paddleflow.mountinfo import read_mounts

_MOST_LINKS = 40
"""As the kernel has it."""
_SERVED = "fuse"
"""How kinds of mounts begin that a program serves."""


def real_place(path: Path) -> Path:
    """Where a path leads, by the links on its way; what lies in a mount that a program serves is taken as it is."""
    mounts = read_mounts()

    def is_served(place: Path) -> bool:
        top = mounts.top(str(place))
        return top is not None and top.kind.startswith(_SERVED)

    return _followed(path.absolute(), is_served)


def _followed(path: Path, is_served: Callable[[Path], bool]) -> Path:
    waiting, links, at = [*reversed(path.parts[1:])], 0, Path("/")
    while waiting and not is_served(at):
        name = waiting.pop()
        at = at.parent if name == ".." else at / name
        target = "" if is_served(at) else _target(at)
        if target:
            links += 1
            if links > _MOST_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
            waiting += [each for each in reversed(Path(target).parts) if each != "/"]
            at = Path("/") if target.startswith("/") else at.parent
    return Path(os.path.normpath(at.joinpath(*reversed(waiting))))


def _target(path: Path) -> str:
    """Where a link leads; nothing if it is none."""
    try:
        return str(path.readlink())
    except OSError:
        return ""
