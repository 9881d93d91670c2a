"""Starts the queue service and the job service in a moment: `python -m support.job_zygote SOCKET`.

It has imported all that they need, and forks one for each connection, over which the test tells what to start and,
later, what is to happen at which failpoint. A service ends when its connection does.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from unittest.mock import patch

import pf_job.app
import pf_kit.ground
import pf_kit.postgres.log
import pf_queue.app
from pf_kit.leases import Leadership
from pf_kit.lifecycle import run
from support.failing_queue import Haste
from support.job_failpoints import JobFailpoints, failing_jobs

HASTE = Haste()
HASTY = partial(Leadership, ttl=HASTE.ttl, pause=HASTE.pause, margin=HASTE.margin)


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
    """A service, from its order to its end."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    wire.sendall(f"{os.getpid()}\n".encode())
    wishes = wire.makefile("rb")
    order = json.loads(wishes.readline())
    log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, sys.stdout.fileno())
    os.dup2(log, sys.stderr.fileno())
    serve = serve_jobs if order["service"] == "job" else serve_queues
    os._exit(serve(wire, wishes, order["environment"]))


def serve_jobs(wire: socket.socket, wishes: Iterator[bytes], environment: Mapping[str, str]) -> int:
    points = JobFailpoints(wire)
    _heed(points.listen, wishes)
    with failing_jobs(points.passed, HASTE):
        return run(pf_job.app.PROGRAM, [], environment)


def serve_queues(_: socket.socket, wishes: Iterator[bytes], environment: Mapping[str, str]) -> int:
    _heed(_die_with_the_test, wishes)
    with patch.multiple(pf_kit.ground, Leadership=HASTY), patch.multiple(pf_kit.postgres.log, POLL=HASTE.pause):
        return run(pf_queue.app.PROGRAM, [], environment)


def _die_with_the_test(wishes: Iterator[bytes]) -> None:
    for _ in wishes:
        pass
    os.kill(os.getpid(), signal.SIGKILL)


def _heed(listen: Callable[[Iterator[bytes]], None], wishes: Iterator[bytes]) -> None:
    threading.Thread(target=listen, args=[wishes], daemon=True).start()


if __name__ == "__main__":
    main(sys.argv[1])
