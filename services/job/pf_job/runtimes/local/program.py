"""The program of a replica: how its process becomes it."""

from __future__ import annotations

import errno
import os
import resource
import signal
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from pf_job.runtimes.local import groups
from pf_job.runtimes.local.kernel import forbid_new_privileges, leave_keys

NOT_EXECUTABLE = 126
NOT_FOUND = 127
"""As shells have it."""
USELESS = 125
LONGEST_SECRET = 65_536
"""Bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What to execute, where, and as whom."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str
    uid: int | None
    """None is the user that the runner runs as."""
    most_processes: int | None = None
    """Of the user altogether; only where no control group counts them."""


def become(
    program: Program,
    secrets: Mapping[str, str],
    log: int,
    group_folders: Sequence[int],
    files_limit: tuple[int, int],
    telling: int,
) -> NoReturn:
    """Executes the program; or tells the init a status and why not, and ends."""
    status, message = USELESS, ""
    try:
        groups.enter(group_folders)
        os.setsid()
        resource.setrlimit(resource.RLIMIT_NOFILE, files_limit)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        _give_up_rights(program)
        # Only now: by a path in the replica's root, nothing may be opened that it may not open itself.
        _connect(log)
        _restore_signals()
        # As late: whoever runs a program must not read by it what its own account may not, or does not see.
        _execute(program, {**program.env, **_read(secrets)})
    except Unexecutable as problem:
        status, message = problem.status, str(problem)
    except BaseException as problem:  # noqa: BLE001 - it must not go on as a second init
        message = f"its process could not be prepared: {problem}"
    finally:
        os.write(telling, f"{status} {message}".encode())
        os._exit(status)


class Unexecutable(Exception):
    """There is no such program, or none that can be executed."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def _connect(log: int) -> None:
    nothing = os.open("/dev/null", os.O_RDWR)
    for source, target in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(source, target)


def _give_up_rights(program: Program) -> None:
    if program.uid is not None:
        leave_keys()
        os.setgroups([])
        if program.most_processes is not None:
            resource.setrlimit(resource.RLIMIT_NPROC, (program.most_processes, program.most_processes))
        os.setresgid(program.uid, program.uid, program.uid)
        os.setresuid(program.uid, program.uid, program.uid)
    forbid_new_privileges()
    os.umask(0o022)


def _restore_signals() -> None:
    """Ignored and blocked signals would stay so in the program: those that the runner ignores, and those that it was
    started with, such as SIGQUIT where a shell started the installation in the background.
    """
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def _read(secrets: Mapping[str, str]) -> Mapping[str, str]:
    """The values of variables, from the files that hold them."""
    values = {}
    for name, path in secrets.items():
        try:
            values[name] = _content(path)
        except (OSError, ValueError) as problem:
            reason = problem.strerror if isinstance(problem, OSError) else str(problem)
            raise Unexecutable(USELESS, f"the secret for {name} cannot be read from {path}: {reason}") from problem
    return values


def _content(path: str) -> str:
    """Of a small file of text, without a final line end."""
    # Whatever else it may be, it must not keep the replica waiting.
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ValueError("it is no file")
        data = os.read(handle, LONGEST_SECRET + 1)
    finally:
        os.close(handle)
    if len(data) > LONGEST_SECRET or b"\0" in data:
        raise ValueError(f"it is not text of at most {LONGEST_SECRET} bytes")
    return os.fsdecode(data).removesuffix("\n").removesuffix("\r")


def _execute(program: Program, env: Mapping[str, str]) -> NoReturn:
    try:
        os.chdir(program.cwd)
    except OSError as problem:
        raise Unexecutable(
            USELESS, f"its working directory {program.cwd} cannot be entered: {problem.strerror}"
        ) from problem
    name = program.argv[0]
    try:
        os.execvpe(name, program.argv, env)  # noqa: S606 - this is the whole purpose
    except (FileNotFoundError, NotADirectoryError) as problem:
        raise Unexecutable(NOT_FOUND, f"the program {name} was not found") from problem
    except OSError as problem:
        reason = "it is no program" if problem.errno == errno.ENOEXEC else problem.strerror
        raise Unexecutable(NOT_EXECUTABLE, f"the program {name} cannot be executed: {reason}") from problem
