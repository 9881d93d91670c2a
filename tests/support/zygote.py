"""Starts services in a moment: `python -m support.zygote SOCKET`.

It has imported all that they need, and forks one for each connection, over which the test tells what to start and,
later, what is to happen at which failpoint. A service ends when its connection does.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias
from unittest.mock import patch

import pf_fs.app
import pf_job.app
import pf_kit.ground
import pf_kit.postgres.log
import pf_pipeline.app
import pf_queue.app
import support.fs_program
from pf_kit.leases import Leadership
from pf_kit.lifecycle import Program, run
from support.failing_queue import Haste, failing
from support.failpoints import Failpoints, Point
from support.job_failpoints import JobPoint, failing_jobs
from support.run_failpoints import RunPoint, failing_runs
from support.zygotes import Kind

Wishes: TypeAlias = "Iterator[bytes]"
PROGRAMS: Mapping[Kind, Program[Any]] = {
    Kind.QUEUE: pf_queue.app.PROGRAM,
    Kind.FS: pf_fs.app.PROGRAM,
    Kind.PLACED_FS: support.fs_program.PROGRAM,
    Kind.JOB: pf_job.app.PROGRAM,
    Kind.PIPELINE: pf_pipeline.app.PROGRAM,
}


def main(address: str) -> None:
    # Nobody waits for those that are killed.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    gc.freeze()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"{address}.new")
        listening.listen()
        Path(f"{address}.new").rename(address)
        # The input ends with the test.
        while sys.stdin not in select.select([listening, sys.stdin], [], [])[0]:
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
    haste = Haste(**order["haste"]) if order["haste"] else None
    status = serve(Kind(order["kind"]), wire, wishes, order["environment"], haste)
    sys.stdout.flush()
    if haste is None:
        with suppress(OSError):
            wire.sendall(f"{status}\n".encode())
    os._exit(status)


def serve(kind: Kind, wire: socket.socket, wishes: Wishes, environment: Mapping[str, str], haste: Haste | None) -> int:
    if haste is None:
        # One that is as a user has it sees the same as if it had been begun as a program.
        os.environ.clear()
        os.environ.update(environment)
    program, listen, changed = _made(kind, wire, haste)
    threading.Thread(target=listen, args=[wishes], daemon=True).start()
    with changed:
        return run(program, [], environment)


Made: TypeAlias = "tuple[Program[Any], Callable[[Wishes], None], AbstractContextManager[object]]"


def _made(kind: Kind, wire: socket.socket, haste: Haste | None) -> Made:
    """What to run, who heeds the wishes, and inside of what it runs."""
    if haste is None:
        return PROGRAMS[kind], _die_with_the_test, nullcontext()
    match kind:
        case Kind.QUEUE:
            return pf_queue.app.PROGRAM, _die_with_the_test, _hasty(haste)
        case Kind.FAILING_QUEUE:
            points = Failpoints(wire, Point)
            return pf_queue.app.PROGRAM, points.listen, failing(points, haste)
        case Kind.FS | Kind.PLACED_FS:
            return pf_fs.app.PROGRAM, _die_with_the_test, _hasty(haste)
        case Kind.FAILING_JOB:
            job_points = Failpoints(wire, JobPoint)
            return pf_job.app.PROGRAM, job_points.listen, failing_jobs(job_points.passed, haste)
        case Kind.FAILING_PIPELINE:
            run_points = Failpoints(wire, RunPoint)
            return pf_pipeline.app.PROGRAM, run_points.listen, failing_runs(run_points.passed, haste)
        case Kind.JOB | Kind.PIPELINE:
            return PROGRAMS[kind], _die_with_the_test, _hasty(haste)


@contextmanager
def _hasty(haste: Haste) -> Iterator[None]:
    """Inside, leaders take turns sooner, and nothing else is changed."""
    leadership = partial(Leadership, ttl=haste.ttl, pause=haste.pause, margin=haste.margin)
    with patch.multiple(pf_kit.ground, Leadership=leadership), patch.multiple(pf_kit.postgres.log, POLL=haste.pause):
        yield


def _die_with_the_test(wishes: Wishes) -> None:
    for _ in wishes:
        pass
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main(sys.argv[1])
