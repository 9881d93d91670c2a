"""Starts instances of the queue service in a moment: `python -m support.zygote SOCKET`.

It has imported all that an instance needs, and forks one for each connection, over which the test tells what to start
and, later, what is to happen at which failpoint. An instance ends when its connection does.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

from pf_kit.lifecycle import run
from pf_queue.app import PROGRAM
from support.failing_queue import Haste, failing
from support.failpoints import Failpoints


def main(address: str) -> None:
    # Nobody waits for those that are killed.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    gc.freeze()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"{address}.new")
        listening.listen()
        Path(f"{address}.new").rename(address)
        while True:
            wire, _ = listening.accept()
            if os.fork() == 0:
                listening.close()
                live(wire)
            wire.close()


def live(wire: socket.socket) -> None:
    """An instance, from its order to its end."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    wire.sendall(f"{os.getpid()}\n".encode())
    wishes = wire.makefile("rb")
    order = json.loads(wishes.readline())
    log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, sys.stdout.fileno())
    os.dup2(log, sys.stderr.fileno())
    os._exit(serve(wire, wishes, order["environment"], Haste(**order["haste"])))


def serve(wire: socket.socket, wishes: BinaryIO, environment: Mapping[str, str], haste: Haste) -> int:
    points = Failpoints(wire)
    threading.Thread(target=points.listen, args=[wishes], daemon=True).start()
    with failing(points, haste):
        return run(PROGRAM, [], environment)


if __name__ == "__main__":
    main(sys.argv[1])
