"""Programs run as children that do not outlive this process."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pf_kit.embedded.accounts import Account
from pf_kit.embedded.processes import Identity, identify

BECOME = Path(__file__).with_name("become.py")


@dataclass(frozen=True, slots=True)
class Program:
    """What to run, as whom, and how it likes to be stopped."""

    argv: tuple[str, ...]
    """The first is an absolute path."""
    environment: Mapping[str, str]
    folder: Path
    """Its current folder."""
    account: Account
    death_signal: signal.Signals
    """What the kernel sends it when this process dies."""
    stop: Sequence[tuple[signal.Signals, float]]
    """The signals that end it, one after the other, each with the seconds it is given before the next; at last it is
    killed."""
    lock: Path | None = None
    """A file that it holds locked, together with its children, as long as one of them lives."""


class Child:
    """A running program. Must be made in the main thread: the kernel ties a child to the thread that made it."""

    def __init__(self, program: Program, *, log: int, stdin: int = subprocess.DEVNULL) -> None:
        """Starts the program, its output going to an open file."""
        self._program = program
        self._process = subprocess.Popen(
            _command(program),
            cwd=program.folder,
            env=dict(program.environment),
            stdin=stdin,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        self.identity: Identity | None = identify(self._process.pid)
        """None if it died at once."""
        self._exit: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._handle = os.pidfd_open(self._process.pid)
        asyncio.get_running_loop().add_reader(self._handle, self._reap)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return not self._exit.done()

    async def wait(self) -> int:
        """Waits for its end; the exit status, or the signal that ended it as a negative number."""
        return await asyncio.shield(self._exit)

    async def stop(self) -> int:
        """Ends it in good order, or by force once its time is up."""
        for number, seconds in self._program.stop:
            self._process.send_signal(number)
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    return await self.wait()
        self._process.kill()
        return await self.wait()

    def _reap(self) -> None:
        asyncio.get_running_loop().remove_reader(self._handle)
        os.close(self._handle)
        self._exit.set_result(self._process.wait())


def _command(program: Program) -> list[str]:
    account = program.account
    orders = [account.uid, account.gid, os.getpid(), int(program.death_signal), program.lock or ""]
    return [sys.executable, "-I", "-S", str(BECOME), *map(str, orders), *program.argv]


def clean_environment(**more: str) -> dict[str, str]:
    """The environment of this process, without what would change a backend's ways behind our back."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "LC_", "LANG"))}
    return kept | {"LC_ALL": "C.UTF-8"} | more
