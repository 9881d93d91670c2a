"""Keeps a mount: hands the device to one client at a time, and goes on with another when it is gone."""

from __future__ import annotations

import errno
import logging
import os
import selectors
import signal
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from paddleflow.mountinfo import KIND, read_mounts
from paddleflow.sockets import peer_of
from pf_fuse.holder.adopting import adopt
from pf_fuse.holder.children import Begin, Child
from pf_fuse.holder.descriptors import Spare, closed, listen
from pf_fuse.holder.messages import (
    KEPT,
    VERSION,
    Come,
    Ended,
    Keep,
    Message,
    Misunderstood,
    Refused,
    Register,
    Registered,
    Unregister,
    Welcome,
    Yield,
    receive,
    send,
)
from pf_fuse.holder.newcomers import Newcomers
from pf_fuse.holder.registered import RegisteredFiles
from pf_fuse.holder.settings import HolderSettings
from pf_fuse.holder.starting import fork, run
from pf_fuse.kernel.backing import OwnRegistry
from pf_fuse.kernel.features import LINUX, Feature
from pf_fuse.kernel.mounting import begin_mount, close_mount

log = logging.getLogger(__name__)

LOOK = 5.0
"""Seconds between two looks whether there is still a mount."""
PATIENCE = 2.0
"""Seconds in which a client ends."""
AGAIN = 1.0
"""Seconds between two trials of what fails for a while, as when too many files are open."""


class Holder:
    """One mount. It never looks into it: it would wait for a client that waits for it."""

    def __init__(self, settings: HolderSettings, serve: Callable[[], None] | None = None) -> None:
        """`serve`: what clients do that are this process once more; None if they are started by a command."""
        self._settings = settings
        self._selector = selectors.DefaultSelector()
        self._listener = listen(settings.socket, settings.user)
        self._child = Child(self._starting(serve), settings.settled)
        self._woken = socket.socketpair()
        """By signals: one end is read, the other is written to."""
        self._client: socket.socket | None = None
        self._newcomers = Newcomers(settings.listens)
        self._next: socket.socket | None = None
        """Who serves as soon as the client is gone."""
        self._spare = Spare()
        self._anew: float | None = None
        """When the mount is to be made anew, by `time.monotonic`; there is no device until that is done."""
        self._taken_away = False
        """The mount that is to be made anew is not in its place any more."""
        self._kept = ""
        self._served = False
        """Some client has served this mount."""
        try:
            self._begin()
        except OSError:
            self._listener.close()
            Path(settings.socket).unlink(missing_ok=True)
            raise
        self._ending = False
        """It was unmounted from here; whoever serves finishes."""
        self._ended = False

    def run(self) -> None:
        """Returns when the mount is gone."""
        self._selector.register(self._listener, selectors.EVENT_READ, self._come)
        self._wake_on_signals()
        try:
            while not self._ended:
                self._mount_if_due()
                self._start_child()
                for key, _ in self._selector.select(self._pause()):
                    key.data()
                for newcomer in self._newcomers.late():
                    log.warning("somebody who says nothing is let go")
                    self._selector.unregister(newcomer)
                    newcomer.close()
                self._look()
        finally:
            self._close()

    # The mount.

    def _begin(self) -> None:
        there = read_mounts().top(str(self._settings.path))
        adopted = adopt(self._listener, self._settings.patience) if there is not None and there.kind == KIND else None
        if adopted is None:
            self._mount()
            return
        self._device, self._agreement = adopted.device, adopted.agreement
        self._files = RegisteredFiles(OwnRegistry(self._device), adopted.registered)
        self._kept, self._served = adopted.kept, True
        self._child.due = None
        self._serves(adopted.client)

    def _mount(self) -> None:
        settings = self._settings
        newest = LINUX[settings.linux] if settings.linux else None
        wanted = Feature(settings.wanted)
        self._device, self._agreement = begin_mount(settings.path, settings.options(), wanted, newest)
        self._files = RegisteredFiles(OwnRegistry(self._device), {})

    def _break_off(self) -> None:
        """What was asked and not answered would never be: all get an error, and the next client a new mount."""
        log.warning("this kernel cannot ask again what the client did not answer; mounting anew")
        self._device = closed(self._device)
        self._served, self._kept = False, ""
        self._anew, self._taken_away = time.monotonic(), False

    def _mount_if_due(self) -> None:
        """Clients wait until there is a mount again: without whoever keeps it there would never be one."""
        if self._anew is None or self._anew > time.monotonic() or self._ending:
            return
        try:
            self._mount_anew()
        except OSError as failure:
            log.warning("it cannot be mounted anew so far: %s", failure)
            self._anew = time.monotonic() + AGAIN
            return
        self._anew = None
        if not self._ended:
            self._welcome_next()

    def _mount_anew(self) -> None:
        there = read_mounts().top(str(self._settings.path))
        if there is not None and there.kind == KIND:
            close_mount(self._settings.path, detach=True)
            self._taken_away = True
        if self._taken_away:
            self._mount()
        else:
            # Somebody else has unmounted it.
            self._ended = True

    def _end(self) -> None:
        """Whoever uses the mount may go on; there is nobody new. A second time it ends at once."""
        if self._client is None or self._ending:
            self._ended = True
        self._ending = True
        self._child.due = None
        try:
            close_mount(self._settings.path, detach=True)
        except OSError as failure:
            log.warning("there is no mount any more: %s", failure)
            self._ended = True

    def _close(self) -> None:
        self._device = closed(self._device)
        self._spare.close()
        self._child.stop(PATIENCE)
        for one in (self._client, self._next, self._listener):
            if one is not None:
                one.close()
        for end in self._woken:
            end.close()
        self._selector.close()
        with suppress(OSError):
            close_mount(self._settings.path, detach=True)
        Path(self._settings.socket).unlink(missing_ok=True)

    # Clients.

    def _come(self) -> None:
        try:
            client, _ = self._listener.accept()
        except OSError as failure:
            log.warning("a client is turned away: %s", failure.strerror)
            if not self._spare.turn_away(self._listener):
                # Who waits is not to be looked for all the time.
                time.sleep(AGAIN)
            return
        user = peer_of(client).user
        if user in {0, os.geteuid(), self._settings.user}:
            self._selector.register(client, selectors.EVENT_READ, partial(self._hear_first, client))
            self._newcomers.come(client)
        else:
            log.warning("a client of user %d is turned away", user)
            client.close()

    def _hear_first(self, client: socket.socket) -> None:
        """Whoever comes with a mount serves another one than this, which was detached from its place."""
        self._selector.unregister(client)
        self._newcomers.heard(client)
        message, descriptor = self._receive(client)
        if descriptor is not None:
            os.close(descriptor)
        if not isinstance(message, Come) or self._next is not None:
            client.close()
        elif self._client is None and self._anew is None:
            self._welcome(client)
        else:
            self._next = client
            self._ask_to_yield()

    def _ask_to_yield(self) -> None:
        if self._client is not None:
            with suppress(OSError):
                send(self._client, Yield())

    def _receive(self, client: socket.socket) -> tuple[Message | None, int | None]:
        try:
            return receive(client)
        except Misunderstood as failure:
            log.warning("%s", failure)
            return None, None

    def _welcome(self, client: socket.socket) -> None:
        agreement = self._agreement
        registers = os.geteuid() == 0
        features = int(agreement.features)
        welcome = Welcome(agreement.minor, features, agreement.largest, self._served, registers, self._kept, VERSION)
        self._serves(client)
        try:
            send(client, welcome, self._device)
        except OSError as failure:
            log.warning("a client went before it was welcome: %s", failure)
            return
        self._served = True

    def _serves(self, client: socket.socket) -> None:
        self._client = client
        self._selector.register(client, selectors.EVENT_READ, partial(self._hear, client))

    def _hear(self, client: socket.socket) -> None:
        message, descriptor = self._receive(client)
        if message is None:
            self._gone(client)
            return
        try:
            self._answer(client, message, descriptor)
        except OSError as failure:
            log.warning("the client did not hear: %s", failure)
        finally:
            if descriptor is not None:
                os.close(descriptor)

    def _answer(self, client: socket.socket, message: Message, descriptor: int | None) -> None:
        match message:
            case Register():
                send(client, self._register(descriptor))
            case Unregister(backing):
                self._files.unregister(backing)
            case Keep(text):
                self._kept = text[:KEPT]
            case Ended():
                self._ended = True
            case _:
                log.warning("a client says %s, which is for the holder to say", type(message).__name__)

    def _register(self, descriptor: int | None) -> Registered | Refused:
        if descriptor is None:
            return Refused(errno.EBADF)
        try:
            return Registered(self._files.register(descriptor))
        except OSError as failure:
            return Refused(failure.errno or errno.EIO)

    def _gone(self, client: socket.socket) -> None:
        self._selector.unregister(client)
        client.close()
        self._client = None
        self._child.needed()
        if self._ending:
            self._ended = True
            return
        if Feature.RESEND in self._agreement.features:
            self._welcome_next()
        else:
            self._break_off()

    def _welcome_next(self) -> None:
        if self._next is not None:
            client, self._next = self._next, None
            self._welcome(client)

    # Children and signals.

    def _starting(self, serve: Callable[[], None] | None) -> Begin | None:
        if serve:
            return partial(fork, self._let_go, serve)
        command = self._settings.command
        return partial(run, command, self._settings.socket) if command else None

    def _let_go(self) -> None:
        """Closes what a client has from its holder that is this holder's."""
        for key in self._selector.get_map().values():
            if isinstance(key.fileobj, socket.socket):
                key.fileobj.close()
        if self._next is not None:
            self._next.close()
        self._woken[1].close()
        self._selector.close()
        self._spare.close()
        closed(self._device)

    def _pause(self) -> float | None:
        """A client says when the mount is gone; without one somebody has to look."""
        due = self._child.due if self._anew is None else self._anew
        pauses = [self._newcomers.pause, None if due is None else max(0.0, due - time.monotonic())]
        pauses += [LOOK] if due is not None or self._client is None else []
        return min((each for each in pauses if each is not None), default=None)

    def _look(self) -> None:
        if self._anew is not None:
            return
        try:
            gone = self._client is None and read_mounts().top(str(self._settings.path)) is None
        except OSError as failure:
            log.warning("what is mounted cannot be looked at: %s", failure.strerror)
            return
        self._ended |= gone

    def _start_child(self) -> None:
        due = self._child.due
        if self._ending or self._anew is not None:
            return
        if due is not None and due <= time.monotonic():
            self._child.start()

    def _wake_on_signals(self) -> None:
        reader, writer = self._woken
        writer.setblocking(False)
        signal.set_wakeup_fd(writer.fileno())
        # That a child is dead is told by a signal: it takes no descriptor, of which there may be none.
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD):
            signal.signal(number, lambda _number, _frame: None)
        self._selector.register(reader, selectors.EVENT_READ, partial(self._signalled, reader))

    def _signalled(self, reader: socket.socket) -> None:
        numbers = set(reader.recv(64))
        self._child.reap()
        if numbers - {signal.SIGCHLD}:
            self._end()
