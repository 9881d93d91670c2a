"""`pf-fuse stand-by FOLDER`: the first process of a container in which a mount is to be served.

The folder has the door, and for each mount a file that only this user may read: what its client is told, with what
opens the storage. Whoever serves is this process once more, so that it begins at once, also when it was killed.
"""

from __future__ import annotations

import gc
import os
import selectors
import signal
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import msgspec

from pf_fuse.app import serve
from pf_fuse.holder.children import Child
from pf_fuse.holder.client import SUPERSEDED
from pf_fuse.holder.starting import fork
from pf_fuse.kernel.libc import adopt_orphans
from pf_fuse.settings import read_settings
from pf_fuse.standing.door import Door, End, Serve, Standing

_AGAIN = 0.2
"""Seconds between two attempts to find the door."""
_SETTLED = 2.0
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD)


class _Told(msgspec.Struct, frozen=True):
    settings: msgspec.Raw


class StandingBy:
    """Serves one mount at most in its life."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._standing = Standing(name)
        self._selector = selectors.DefaultSelector()
        self._woken = socket.socketpair()
        self._door: Door | None = None
        self._child = Child(None, _SETTLED)
        self._done = False

    def run(self) -> None:
        """Returns when its mount is gone, another one serves it, or it was told to go before it had one."""
        self._wake_on_signals()
        while not self._done:
            self._knock()
            self._start_child()
            for key, _ in self._selector.select(self._pause()):
                key.data()
        self._child.stop(0.0)

    # The door.

    def _knock(self) -> None:
        if self._door is None:
            with suppress(OSError):
                self._door = Door(self._folder)
                self._selector.register(self._door, selectors.EVENT_READ, self._hear)
                self._say()

    def _say(self) -> None:
        """Nothing if nobody is there, which is seen where he is listened to."""
        if self._door is not None:
            with suppress(OSError):
                self._door.say(self._standing)

    def _hear(self) -> None:
        orders = self._door.orders() if self._door else None
        if orders is None:
            self._close_door()
            return
        for order in orders:
            match order:
                case Serve(key) if not self._standing.key:
                    self._standing = Standing(self._standing.name, key, self._standing.leaving)
                    self._child = Child(self._begin, _SETTLED)
                    self._say()
                case End():
                    self._done = True

    def _close_door(self) -> None:
        if self._door is not None:
            self._selector.unregister(self._door)
            self._door.close()
            self._door = None

    # Whoever serves.

    def _begin(self) -> int:
        told = msgspec.json.decode(self._told.read_bytes(), type=_Told)
        return fork(self._let_go, partial(serve, read_settings(bytes(told.settings))))

    @property
    def _told(self) -> Path:
        return self._folder / f"{self._standing.key}.json"

    def _start_child(self) -> None:
        due = self._child.due
        if self._done or due is None or due > time.monotonic():
            return
        if not self._told.exists():
            # The mount is gone.
            self._done = True
            return
        self._child.start()

    def _let_go(self) -> None:
        """Closes what is not of the client. What is looked at is not changed: both would look at less."""
        if self._door is not None:
            self._door.close()
        for end in self._woken:
            end.close()
        self._selector.close()

    def _pause(self) -> float | None:
        due = self._child.due
        waits = [] if due is None else [max(0.0, due - time.monotonic())]
        if self._door is None:
            waits.append(_AGAIN)
        return min(waits, default=None)

    # Signals.

    def _wake_on_signals(self) -> None:
        reader, writer = self._woken
        writer.setblocking(False)
        signal.set_wakeup_fd(writer.fileno())
        for number in _SIGNALS:
            signal.signal(number, lambda _number, _frame: None)
        self._selector.register(reader, selectors.EVENT_READ, self._signalled)

    def _signalled(self) -> None:
        numbers = self._woken[0].recv(64)
        if signal.SIGCHLD in numbers:
            self._done |= self._child.reap() in {0, SUPERSEDED}
            self._bury()
        if signal.SIGTERM in numbers or signal.SIGINT in numbers:
            self._leave()

    def _bury(self) -> None:
        """Processes that those who were killed have left; whoever serves is waited for where it is begun."""
        with suppress(ChildProcessError):
            while (dead := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
                if dead.si_pid == self._child.process:
                    return
                os.waitpid(dead.si_pid, 0)

    def _leave(self) -> None:
        """While its mount is used it stays until another one follows."""
        if not self._standing.key:
            self._done = True
            return
        self._standing = Standing(self._standing.name, self._standing.key, leaving=True)
        self._say()


def stand_by(folder: Path, name_of: Callable[[], str] = socket.gethostname) -> int:
    os.chdir("/")
    adopt_orphans()
    # What is loaded by now needs not be looked through again by whoever serves.
    gc.collect()
    gc.freeze()
    StandingBy(folder, name_of()).run()
    return 0
