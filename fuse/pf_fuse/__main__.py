"""`pf-fuse`: mounts what the settings say that come in on the standard input, and stays until it is unmounted.

It writes `ready` to the standard output when programs can use the mount. `pf-fuse --background` returns at once: it is
ready, or has failed, when its standard output ends or says so. `pf-fuse carry` is for itself. With the name of an
errand it does that, and tells how far it is. `pf-fuse stand-by FOLDER` waits until it is told which mount to serve.
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

USAGE = f"usage: pf-fuse [--background | {' | '.join(ERRANDS)}] < SETTINGS\n       pf-fuse stand-by FOLDER\n"
_ARGUMENTS: Sequence[list[str]] = ([], ["--background"], ["carry"], *([name] for name in ERRANDS))


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
    told = sys.stdin.buffer.read()
    try:
        if arguments and arguments[0] in ERRANDS:
            return run(ERRANDS[arguments[0]], told)
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
