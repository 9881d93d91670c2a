"""The client's end: gets the device from a holder, and asks it for what takes its rights."""

from __future__ import annotations

import errno
import logging
import os
import socket
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from paddleflow.sockets import address
from pf_fuse.holder.messages import (
    KEPT,
    VERSION,
    Adopt,
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
from pf_fuse.kernel.features import Agreement, Feature

log = logging.getLogger(__name__)

SUPERSEDED = 75
"""How a process ends that another one follows."""
AGAIN = 0.5
"""Seconds between two looks for a new holder."""


@dataclass(frozen=True, slots=True)
class Held:
    """A mount that a holder keeps, and that this process is to serve."""

    device: int
    agreement: Agreement
    resumed: bool
    """Another process has served it before."""
    kept: str
    """What that one had kept."""
    holder: HolderClient

    @property
    def registry(self) -> HolderClient | None:
        """Whoever may register files; None if nobody may."""
        return self.holder if self.holder.registers else None


class HolderGone(OSError):
    """There is no holder, or none that answers."""


class HolderClient:
    """Asks the holder, from any thread.

    A process that is asked to yield ends at once: two must not serve one mount. Without its holder it goes on serving,
    registers no files, and looks for the next holder, to which it hands the device back.
    """

    def __init__(self, path: str, peer: socket.socket, device: int, welcome: Welcome) -> None:
        self.registers = welcome.registers
        self._path = path
        self._peer = peer
        self._device = device
        self._agreed = welcome.minor, welcome.features, welcome.largest
        self._kept = welcome.kept
        self._registered: dict[int, tuple[int, int]] = {}
        self._asking = threading.Lock()
        self._answer: Registered | Refused | None = None
        self._answered = threading.Condition()
        self._gone = False
        self._ended = threading.Event()

    def listen(self) -> None:
        threading.Thread(target=self._listen, name="fuse-holder", daemon=True).start()

    def register(self, descriptor: int) -> int:
        with self._asking:
            answer = self._ask(descriptor)
        if isinstance(answer, Refused):
            raise OSError(answer.number, os.strerror(answer.number))
        if answer is None:
            raise HolderGone(errno.EPERM, "the holder that may register files is gone")
        status = os.fstat(descriptor)
        self._registered[answer.backing] = status.st_dev, status.st_ino
        return answer.backing

    def unregister(self, backing: int) -> None:
        self._registered.pop(backing, None)
        self._say(Unregister(backing))

    def keep(self, text: str) -> None:
        """The next process is told."""
        if len(text) > KEPT:
            raise ValueError(f"{len(text)} characters; a holder keeps {KEPT}")
        self._kept = text
        self._say(Keep(text))

    def ended(self) -> None:
        """The mount is gone and all is finished: the holder need not wait any more."""
        self._ended.set()
        self._say(Ended())

    def _ask(self, descriptor: int) -> Registered | Refused | None:
        with self._answered:
            self._answer = None
        self._say(Register(), descriptor)
        with self._answered:
            self._answered.wait_for(lambda: self._gone or self._answer is not None)
            return self._answer

    def _say(self, message: Message, descriptor: int | None = None) -> None:
        """Nothing if the holder is gone, which is seen where it is listened to."""
        with suppress(OSError):
            send(self._peer, message, descriptor)

    def _listen(self) -> None:
        while not self._ended.is_set():
            self._listen_to_one()
            while not self._ended.is_set() and not self._returned():
                self._ended.wait(AGAIN)
        self._peer.close()

    def _listen_to_one(self) -> None:
        """Until it is gone."""
        message: Message | None = None
        while not self._gone:
            try:
                message, _ = receive(self._peer)
            except Misunderstood:
                message = None
            if isinstance(message, Yield):
                os._exit(SUPERSEDED)
            with self._answered:
                self._gone = message is None
                if isinstance(message, Registered | Refused):
                    self._answer = message
                self._answered.notify()

    def _returned(self) -> bool:
        """Hands the device to the next holder, if there is one."""
        registered = [(*file, backing) for backing, file in self._registered.items()]
        try:
            peer = _connected(self._path)
        except (FileNotFoundError, ConnectionRefusedError):
            return False
        except OSError as error:
            # As when too many files are open: there may be room again.
            log.warning("the holder at %s cannot be reached: %s", self._path, error.strerror)
            return False
        try:
            send(peer, Adopt(*self._agreed, self._kept, registered, VERSION), self._device)
        except OSError:
            peer.close()
            return False
        self._peer.close()
        self._peer = peer
        self._gone = False
        return True


def take(path: str) -> Held:
    """Waits until this process is to serve."""
    try:
        peer = _connected(path)
    except OSError as failure:
        raise HolderGone(failure.errno, f"there is no holder at {path}") from failure
    try:
        send(peer, Come(VERSION))
        message, device = receive(peer)
    except OSError as failure:
        peer.close()
        raise HolderGone(failure.errno, f"there is no holder at {path}") from failure
    if not isinstance(message, Welcome) or device is None:
        peer.close()
        raise HolderGone(errno.EPROTO, f"the holder at {path} has no mount for this process")
    os.set_inheritable(device, False)
    agreement = Agreement(message.minor, Feature(message.features), message.largest)
    client = HolderClient(path, peer, device, message)
    client.listen()
    return Held(device, agreement, message.resumed, message.kept, client)


def _connected(path: str) -> socket.socket:
    """OSError if there is no holder, or nothing can be opened."""
    peer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        with address(Path(path)) as short:
            peer.connect(short)
    except OSError:
        peer.close()
        raise
    return peer
