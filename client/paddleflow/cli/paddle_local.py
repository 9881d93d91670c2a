"""Runs the processes of a job on this machine, without any server."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from paddleflow.cli.paddle_job import data_environment
from paddleflow.cli.paddle_options import Asked
from paddleflow.cli.paddle_roles import Process, environment, processes, site_of
from paddleflow.models.job_specs import Role
from paddleflow.problems import FailedPrecondition, InvalidArgument, Violation

GRACE = 10.0
"""Seconds between the word to end and the kill."""
DRAIN = 1.0
"""Seconds in which more must come of what a process has written that is over."""
SIGNALLED = 128
"""What shells add to the number of the signal that ended a program."""
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
DECISIVE = frozenset({Role.WORKER, Role.MAIN})
"""When all of these ended well, the job has; the others are ended then."""

_PART = 64 * 1024
_LONGEST = 2**20
"""Bytes of a line; of a longer one the parts are told as lines."""


@dataclass(frozen=True, slots=True)
class Start:
    """What a process is started with."""

    process: Process
    argv: Sequence[str]
    folder: str
    environ: Mapping[str, str]


class Replica:
    """A process that was started. With all that it starts it is a group of its own."""

    def __init__(self, start: Start) -> None:
        self.name = start.process
        self._started = _started(start)
        # asyncio's own processes count as running while a child of theirs holds the pipe.
        self._ended = asyncio.get_running_loop().create_future()
        self._parts = 0
        """How often something came that it had written."""

    def look(self) -> None:
        """To be called whenever a child of this process has ended."""
        if self._started.poll() is not None and not self._ended.done():
            self._ended.set_result(None)

    async def over(self, prefix: bytes, output: BinaryIO) -> int:
        """What shells tell of its end, once that has come; prints what it writes until then."""
        printing = asyncio.create_task(self._print(prefix, output))
        printing.add_done_callback(self._fail)
        await self._ended
        self.send(signal.SIGKILL)
        while await self._goes_on(printing):
            pass
        printing.cancel()
        with suppress(asyncio.CancelledError):
            await printing
        status = self._started.returncode
        return status if status >= 0 else SIGNALLED - status

    async def _goes_on(self, printing: asyncio.Task[None]) -> bool:
        """False once all is printed, or nothing has come for a while: who has left the group may hold the pipe.

        Whoever takes the output may have let it wait, and with it everything here: that time does not count.
        """
        loop, before = asyncio.get_running_loop(), self._parts
        begun = loop.time()
        await asyncio.wait({printing}, timeout=DRAIN)
        held_up = loop.time() - begun > 1.5 * DRAIN
        return not printing.done() and (held_up or self._parts > before)

    def _fail(self, printing: asyncio.Task[None]) -> None:
        """Nobody waits for the end of a process whose output nobody takes: it might not end for want of that."""
        problem = None if printing.cancelled() else printing.exception()
        if problem and not self._ended.done():
            self._ended.set_exception(problem)

    def send(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._started.pid, number)

    async def _print(self, prefix: bytes, output: BinaryIO) -> None:
        """As it is, or, with a prefix, line by line."""
        reader, rest = asyncio.StreamReader(), b""
        await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), self._started.stdout
        )
        try:
            while part := await reader.read(_PART):
                self._parts += 1
                lines, rest = _lines(prefix, rest + part) if prefix else (part, b"")
                _write(output, lines)
        finally:
            if rest:
                _write(output, prefix + rest + b"\n")


def starts_of(asked: Asked, reads: str | None, writes: str | None, environ: Mapping[str, str]) -> list[Start]:
    """The processes of a job in the order in which they are started; its output is there then."""
    package, module = str(asked.package.folder), asked.program.module
    root = str(asked.package.folder.parent) if module.within else package
    data = str(_input(reads)) if reads else "", str(_output(writes)) if writes else ""
    argv = asked.program.argv(sys.executable, *data)
    every = data_environment(environ, module.search(root), *data)
    site = site_of(asked.name, asked.crew)
    return [Start(each, argv, package, every | environment(site, each)) for each in processes(asked.crew)]


def run_here(starts: Sequence[Start], output: BinaryIO, tell: Callable[[str], None]) -> int:
    """Runs all until the job is over, or a signal comes; returns what the command ends with."""
    return asyncio.run(run(starts, output, tell))


async def run(starts: Sequence[Start], output: BinaryIO, tell: Callable[[str], None]) -> int:
    """As `run_here`."""
    loop, signals = asyncio.get_running_loop(), asyncio.Queue[int]()
    for number in SIGNALS:
        loop.add_signal_handler(number, signals.put_nowait, int(number))
    running: dict[asyncio.Task[int], Replica] = {}
    loop.add_signal_handler(signal.SIGCHLD, _look, running)
    try:
        for start in starts:
            replica = Replica(start)
            prefix = f"{start.process}: ".encode() if len(starts) > 1 else b""
            running[asyncio.create_task(replica.over(prefix, output))] = replica
            replica.look()
        return await _until_over(running, signals, tell)
    finally:
        await _end(running, signals)
        # One that came while the loop is closed would be complained of.
        for number in (*SIGNALS, signal.SIGCHLD):
            loop.remove_signal_handler(number)


def _input(path: str) -> Path:
    folder = Path(path).resolve()
    if not folder.is_dir():
        raise InvalidArgument.of(Violation("input", f"there is no folder {path}"))
    return folder


def _output(path: str) -> Path:
    folder = Path(path).resolve()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidArgument.of(Violation("output", f"{path} cannot be made: {error.strerror}")) from error
    return folder


async def _until_over(
    running: dict[asyncio.Task[int], Replica], signals: asyncio.Queue[int], tell: Callable[[str], None]
) -> int:
    told = asyncio.create_task(signals.get())
    while _decisive(running.values()):
        ended, _ = await asyncio.wait({*running, told}, return_when=asyncio.FIRST_COMPLETED)
        if told in ended:
            tell("interrupted: all processes are told to end")
            return SIGNALLED + told.result()
        for task in ended & running.keys():
            status = task.result()
            replica = running.pop(task)
            if status:
                tell(f"{replica.name} ended with {_words(status)}{'; the others are ended' if running else ''}")
                told.cancel()
                return status
    told.cancel()
    return 0


def _decisive(replicas: Iterable[Replica]) -> bool:
    return any(replica.name.role in DECISIVE for replica in replicas)


async def _end(running: Mapping[asyncio.Task[int], Replica], signals: asyncio.Queue[int]) -> None:
    """Ends what still runs: with a word first; by force when its time is over, or when a signal comes again."""
    if not running:
        return
    _send(running.values(), signal.SIGTERM)
    again = asyncio.create_task(signals.get())
    all_over = asyncio.gather(*running, return_exceptions=True)
    either: set[asyncio.Future[Any]] = {all_over, again}
    await asyncio.wait(either, timeout=GRACE, return_when=asyncio.FIRST_COMPLETED)
    again.cancel()
    _send(running.values(), signal.SIGKILL)
    await all_over


def _look(running: Mapping[asyncio.Task[int], Replica]) -> None:
    for replica in running.values():
        replica.look()


def _send(replicas: Collection[Replica], number: signal.Signals) -> None:
    for replica in replicas:
        replica.send(number)


def _lines(prefix: bytes, text: bytes) -> tuple[bytes, bytes]:
    """Whole lines, each with the prefix, and the beginning of the next one."""
    *lines, rest = text.split(b"\n")
    if len(rest) > _LONGEST:
        lines, rest = [*lines, rest], b""
    return b"".join(prefix + line + b"\n" for line in lines), rest


def _started(start: Start) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            start.argv,
            cwd=start.folder,
            env=start.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        raise FailedPrecondition(f"{start.process} cannot be started: {error.strerror}") from error


def _write(output: BinaryIO, text: bytes) -> None:
    """Writes all: a signal, such as that of a process that has ended, cuts a write short that waits for its reader."""
    left = memoryview(text)
    while left:
        left = left[output.write(left) :]
    output.flush()


def _words(status: int) -> str:
    return f"signal {status - SIGNALLED}" if status > SIGNALLED else f"exit status {status}"
