"""The first process of a replica: it starts the program, passes signals on, buries the dead, and writes down the end.

It is a fork of the runner that executes nothing else, so it costs a millisecond; and it outlives the runner, so what it
writes down is never lost with it.
"""

from __future__ import annotations

import os
import resource
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NoReturn

from pf_job.runtimes.local import files, groups, layout, records
from pf_job.runtimes.local.kernel import Namespace, become_subreaper, forbid_inspection
from pf_job.runtimes.local.limits import killed_for_memory, refused_processes
from pf_job.runtimes.local.mounts import Unmountable, Wish
from pf_job.runtimes.local.processes import children_of, stat_of
from pf_job.runtimes.local.program import Program, become
from pf_job.runtimes.local.records import Ending, Order, Process
from pf_job.runtimes.local.sandbox import build
from pf_job.runtimes.local.users import map_user

KILL = signal.SIGUSR1
"""Tells an init to kill all there is of its replica."""
HEEDED = {signal.SIGTERM, signal.SIGCHLD, KILL}
BRIEF = 0.1
"""Seconds after which a replica gets its share of the processor. To enter a group can take the kernel milliseconds, in
which it starts no process anywhere, and what is over before has no need of a share."""
FOR_EVER = 3e7
KIB = 1_024
BLOCK = 512
"""Bytes in which the kernel counts what a process read and wrote, whatever the disk has."""
NOT_STARTED = 125
"""The exit status of a replica whose program was not even looked for, as shells and containers have it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Birth:
    """What an init needs to know; its handles are open."""

    order: Order
    program: Program
    folder: int
    """Of the replica. Its lock is held by whoever has this handle open."""
    log: int
    own: int
    own_path: str
    """The folder for temporary files."""
    group_folders: tuple[int, ...]
    group_places: tuple[int, ...]
    """The folders in which those lie."""
    first_groups: tuple[int, ...]
    """Those that the program is in from its beginning, since they limit it. The others only share out."""
    held: tuple[int, ...]
    """Files whose locks it holds."""
    leaf: str
    """What those are called there."""
    base: str
    hidden: tuple[str, ...]
    sealed: tuple[str, ...]
    users: str
    """The file in which its own user has a name; empty if it has one anyway."""
    namespaces: Namespace
    files_limit: tuple[int, int]
    started: int
    """In microseconds of the epoch."""

    def handles(self) -> list[int]:
        return sorted({self.folder, self.log, self.own, *self.held, *self.group_folders, *self.group_places})


class Failed(Exception):
    """The program was not started."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def run(birth: Birth, uid: int, gid: int) -> NoReturn:
    """What the new process does. The ids are the runner's."""
    status = 0
    try:
        _close_all_but(birth.handles())
        _prepare(birth, uid, gid)
        _end(birth, _live(birth))
    except BaseException as problem:  # noqa: BLE001 - whatever it is, this process must not go on as a second runner
        status = 1
        os.write(birth.log, f"the runner could not look after this replica: {problem!r}\n".encode())
    finally:
        os._exit(status)


def _close_all_but(kept: Sequence[int]) -> None:
    edge = 3
    for handle in kept:
        os.closerange(edge, handle)
        edge = handle + 1
    os.closerange(edge, 2**20)


def _prepare(birth: Birth, uid: int, gid: int) -> None:
    os.umask(0o022)
    signal.pthread_sigmask(signal.SIG_BLOCK, HEEDED)
    for number in HEEDED:
        signal.signal(number, signal.SIG_DFL)
    os.setsid()
    become_subreaper()
    if birth.namespaces & Namespace.USERS:
        map_user(uid, gid)
    # Its own number is told by the machine's view of processes, which is still there.
    mine = stat_of("self")
    if mine is None:
        raise OSError("the machine does not show its processes at /proc")
    line = records.write(Process(mine.pid, mine.ticks, birth.started))
    files.add(birth.folder, layout.RECORD, line, lasting=False)


def _live(birth: Birth) -> Ending:
    try:
        main = _start(birth)
    except Failed as failure:
        return Ending(ended=_now(), status=failure.status, message=str(failure))
    others = [handle for handle in birth.group_folders if handle not in birth.first_groups]
    killed, late = False, bool(others)
    while True:
        found = signal.sigtimedwait(HEEDED, BRIEF if late else FOR_EVER)
        match None if found is None else signal.Signals(found.si_signo):
            case None:
                groups.enter_all(others, lambda: children_of(os.getpid()))
                late = False
            case signal.SIGTERM:
                with suppress(ProcessLookupError):
                    os.killpg(main, signal.SIGTERM)
            case signal.SIGCHLD:
                outcome = _bury(main)
                if outcome is not None:
                    return _ending(birth, outcome, killed)
            case _:
                killed = True
                _kill_all()


def _start(birth: Birth) -> int:
    """Starts the program; its process. Raises Failed."""
    if birth.namespaces & Namespace.MOUNTS:
        wishes = [Wish(mount.source, mount.target, mount.read_only, mount.identity) for mount in birth.order.mounts]
        try:
            build(birth.base, birth.own_path, wishes, birth.hidden, birth.sealed, birth.users)
        except Unmountable as problem:
            raise Failed(NOT_STARTED, str(problem)) from problem
        except OSError as problem:
            raise Failed(NOT_STARTED, f"its folders could not be mounted: {problem}") from problem
    forbid_inspection()
    hearing, telling = os.pipe()
    main = os.fork()
    if main == 0:
        become(birth.program, birth.order.secret_env, birth.log, birth.first_groups, birth.files_limit, telling)
    os.close(telling)
    told = files.read_all(hearing)
    os.close(hearing)
    if told:
        _bury_all()
        status, _, message = told.decode(errors="replace").partition(" ")
        raise Failed(int(status), message)
    return main


def _bury(main: int) -> int | None:
    """Takes note of children that ended; how the program did, if it is one of them."""
    outcome = None
    with suppress(ChildProcessError):
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            if found[0] == main:
                outcome = found[1]
    return outcome


def _bury_all() -> None:
    """Kills all there is of the replica, until nothing is left."""
    while not _is_childless():
        _kill_all()
        with suppress(ChildProcessError):
            os.waitpid(-1, 0)


def _is_childless() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return True
    return False


def _kill_all() -> None:
    if os.getpid() == 1:
        with suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        return
    for pid in children_of(os.getpid()):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _ending(birth: Birth, outcome: int, killed: bool) -> Ending:
    ended = _now()
    _bury_all()
    code = os.waitstatus_to_exitcode(outcome)
    message = _why(birth) if code else ""
    if killed and not message:
        message = "killed: it had not ended when its time was over"
    used = _used()
    if code < 0:
        named = message or f"ended by {_name_of(-code)}"
        return replace(used, ended=ended, signal=-code, message=named)
    return replace(used, ended=ended, status=code, message=message)


def _name_of(number: int) -> str:
    """Most signals of real time have none."""
    with suppress(ValueError):
        return signal.Signals(number).name
    return f"signal {number}"


def _why(birth: Birth) -> str:
    """What its limits had to do with it that the program failed."""
    if any(map(killed_for_memory, groups.events(birth.group_folders, groups.MEMORY_EVENTS))):
        return f"killed for want of memory: its limit is {birth.order.memory} bytes"
    if any(map(refused_processes, groups.events(birth.group_folders, groups.PROCESS_EVENTS))):
        return f"wanted more processes than it may have, which is {birth.order.processes}"
    return ""


def _used() -> Ending:
    """What all that ran has used, as far as it was waited for."""
    found = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Ending(
        ended=0,
        cpu=round((found.ru_utime + found.ru_stime) * 1e6),
        peak=found.ru_maxrss * KIB,
        read=found.ru_inblock * BLOCK,
        written=found.ru_oublock * BLOCK,
    )


def _end(birth: Birth, ending: Ending) -> None:
    for place in birth.group_places:
        with suppress(OSError):
            os.rmdir(birth.leaf, dir_fd=place)
    files.empty(birth.own)
    files.add(birth.folder, layout.RECORD, records.write(ending), lasting=True)


def _now() -> int:
    return time.time_ns() // 1_000
