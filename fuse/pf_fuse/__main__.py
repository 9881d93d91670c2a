"""`pf-fuse`: mounts what the settings say that come in on the standard input, and stays until it is unmounted.

It writes `ready` to the standard output when programs can use the mount. `pf-fuse --background` returns at once: it is
ready, or has failed, when its standard output ends or says so. `pf-fuse carry` is for itself. With the name of an
errand it does that, and tells how far it is. `pf-fuse stand-by FOLDER` waits until it is told which mount to serve,
and `pf-fuse start-mounts` begins one each time it is asked to.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

from pf_fuse import logs
from pf_fuse.app import hold
from pf_fuse.errands import ERRANDS, run
from pf_fuse.porters.porter import carry
from pf_fuse.settings import read_settings
from pf_fuse.standing.program import stand_by
from pf_fuse.standing.starter import start_mounts

USAGE = f"usage: pf-fuse [--background | {' | '.join(ERRANDS)}] < SETTINGS\n       pf-fuse stand-by FOLDER\n"
_OVER_SOCKETS = ("carry", "start-mounts")
"""What they do, they are told by whoever has begun them."""
_ARGUMENTS: Sequence[list[str]] = ([], ["--background"], *([name] for name in (*_OVER_SOCKETS, *ERRANDS)))


def main() -> int:
    """0 when the mount was taken away, 1 if it could not be made or served, 2 if the settings are wrong."""
    logs.begin()
    arguments = sys.argv[1:]
    if len(arguments) == 2 and arguments[0] == "stand-by":
        return stand_by(Path(arguments[1]))
    if arguments not in _ARGUMENTS:
        sys.stderr.write(USAGE)
        return 2
    if arguments == ["--background"] and os.fork():
        os._exit(0)
    # Whoever began it may unmount or remove the folder it stood in.
    os.chdir("/")
    if arguments == ["carry"]:
        carry(socket.socket(fileno=sys.stdin.fileno()))
        return 0
    if arguments == ["start-mounts"]:
        start_mounts(socket.socket(fileno=os.dup(sys.stdin.fileno())), lambda: _do(""))
        return 0
    return _do(arguments[0] if arguments else "")


def _do(errand: str) -> int:
    """What the standard input says; a mount if it is no errand."""
    told = sys.stdin.buffer.read()
    try:
        if errand in ERRANDS:
            return run(ERRANDS[errand], told)
        hold(read_settings(told))
    except ValueError as error:
        sys.stderr.write(f"pf-fuse: {error}\n")
        return 2
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        sys.stderr.write(f"pf-fuse: {error.strerror or error}{where}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
