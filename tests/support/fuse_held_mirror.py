"""A client of a holder: a process that serves a mirror of a folder, and goes on with what another one has served."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from pf_fuse.holder.children import SOCKET_VARIABLE
from pf_fuse.holder.client import take
from pf_fuse.kernel.transport import Transport
from support.fuse_mirror import Manners, Mirror


def main(root: str, manners: str) -> None:
    held = take(os.environ[SOCKET_VARIABLE])
    mirror = Mirror(Path(root), Manners(**json.loads(manners)))
    with Path(f"{root}.clients").open("a") as clients:
        clients.write(f"{os.getpid()} {time.monotonic()} {int(held.resumed)} {held.kept}\n")
    held.holder.keep(f"kept by {os.getpid()}")
    Transport(held.device, held.agreement, mirror, held.registry).serve(held.resumed)
    held.holder.ended()


if __name__ == "__main__":
    main(*sys.argv[1:])
