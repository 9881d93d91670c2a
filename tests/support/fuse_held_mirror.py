"""A client of a holder: a process that serves a mirror of a folder, and goes on with what another one has served."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from pf_fuse.holder.client import take
from pf_fuse.holder.starting import SOCKET_VARIABLE
from pf_fuse.kernel.transport import Transport
from pf_fuse.operations import Answer
from support.fuse_mirror import Manners, Mirror

DEEDS = {
    "create",
    "link",
    "mkdir",
    "mknod",
    "removexattr",
    "rename",
    "rmdir",
    "setxattr",
    "symlink",
    "unlink",
    "write",
}


class Mortal(Mirror):
    """Dies after it has done what it was asked to do with a name that begins so, and before it says so; once each."""

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        return partial(last_deed, found) if name in DEEDS else found


def last_deed(deed: Callable[..., Answer[object]], *arguments: object) -> Answer[object]:
    answer = deed(*arguments)
    marked = [argument for argument in arguments if isinstance(argument, bytes) and argument.startswith(b"user.dies-")]
    if marked:
        mark = Path(f"/proc/self/cwd/{deed.__name__}-{os.fsdecode(marked[0])}")
        if not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
    return answer


def main(root: str, manners: str) -> None:
    held = take(os.environ[SOCKET_VARIABLE])
    mirror = Mortal(Path(root), Manners(**json.loads(manners)))
    os.chdir(Path(root).parent)
    with Path(f"{root}.clients").open("a") as clients:
        clients.write(f"{os.getpid()} {time.monotonic()} {int(held.resumed)} {held.kept}\n")
    held.holder.keep(f"kept by {os.getpid()}")
    Transport(held.device, held.agreement, mirror, held.registry).serve(held.resumed)
    held.holder.ended()


if __name__ == "__main__":
    main(*sys.argv[1:])
