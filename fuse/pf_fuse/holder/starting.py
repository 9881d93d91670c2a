"""Two ways to start a client: as a program, or as this process once more, in which all is loaded already."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable, Sequence

SOCKET_VARIABLE = "PF_FUSE_HOLDER"
"""In the environment of a client that is a program: the path of the holder's socket."""
_OWN_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD)
_IGNORED = (signal.SIGPIPE, signal.SIGXFSZ)
"""By Python, and by no other program."""

log = logging.getLogger(__name__)


def run(command: Sequence[str], socket_path: str) -> int:
    """The process. It reads nothing."""
    environment = os.environ | {SOCKET_VARIABLE: socket_path}
    nothing = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
    return os.posix_spawnp(command[0], list(command), environment, file_actions=[nothing], setsigdef=_IGNORED)


def fork(let_go: Callable[[], None], serve: Callable[[], object]) -> int:
    """The process, which lets go of what is not its own, serves and ends.

    A program would be loaded for half a second of a processor, while programs wait. There must be no other threads.
    """
    process = os.fork()
    if process:
        return process
    status = 1
    try:
        _take_signals()
        let_go()
        serve()
        status = 0
    except Exception:
        log.exception("the client failed")
    finally:
        # The frames above are the holder's.
        os._exit(status)


def _take_signals() -> None:
    signal.set_wakeup_fd(-1)
    for number in _OWN_SIGNALS:
        signal.signal(number, signal.SIG_DFL)
