"""The client's end: gets the device from a holder, and asks it for what takes its rights."""

from __future__ import annotations

import errno
import logging
import os
import socket
import struct
import threading
from dataclasses import dataclass
from pathlib import Path

from paddleflow.sockets import address
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
from pf_fuse.holder.returning import File, returns
from pf_fuse.kernel.features import Agreement, Feature
from pf_fuse.threads import started

log = logging.getLogger(__name__)

SUPERSEDED = 75
"""How a process ends that another one follows."""
AGAIN = 0.5
"""Seconds between two looks for a new holder."""
PATIENCE = 3.0
"""Seconds in which a holder reads what it is told, and answers. Who asks may hold up others meanwhile."""
_SECONDS_AND_MICROSECONDS = struct.Struct("@ll")


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
        self._device = device
        self._agreed = welcome.minor, welcome.features, welcome.largest
        self._asking = threading.Lock()
        self._line = threading.Condition()
        """It is held for what follows, and by nobody who waits for the holder longer than `PATIENCE`."""
        self._peer = _bounded(peer)
        self._gone = False
        self._slow = False
        """The holder has not read for a while, and is not waited for until it is told all."""
        self._kept = welcome.kept
        self._registered: dict[int, File] = {}
        self._unsaid: list[Message] = []
        """What the holder has not heard, in its order."""
        self._awaited = False
        """This holder has not answered, whether or not somebody still waits for it: it answers one after the other."""
        self._asked: File | None = None
        """About which file somebody waits for an answer."""
        self._answer: Registered | Refused | None = None
        self._ended = threading.Event()

    def listen(self) -> None:
        started("fuse-holder", self._listen)

    def register(self, descriptor: int) -> int:
        status = os.fstat(descriptor)
        with self._asking:
            answer = self._ask(descriptor, (status.st_dev, status.st_ino))
        if isinstance(answer, Refused):
            raise OSError(answer.number, os.strerror(answer.number))
        if answer is None:
            raise HolderGone(errno.EPERM, "the holder that may register files is gone, or does not answer")
        return answer.backing

    def unregister(self, backing: int) -> None:
        with self._line:
            self._registered.pop(backing, None)
            self._say(Unregister(backing))

    def keep(self, text: str) -> None:
        """The next process is told."""
        if len(text) > KEPT:
            raise ValueError(f"{len(text)} characters; a holder keeps {KEPT}")
        with self._line:
            self._kept = text
            self._unsaid = [message for message in self._unsaid if not isinstance(message, Keep)]
            self._say(Keep(text))

    def ended(self) -> None:
        """The mount is gone and all is finished: the holder need not wait any more."""
        self._ended.set()
        with self._line:
            self._say(Ended())

    # Whoever calls what follows holds the line.

    def _say(self, message: Message) -> None:
        self._unsaid.append(message)
        self._catch_up()

    def _catch_up(self) -> bool:
        """True if the holder is told all. That it is gone is seen where it is listened to."""
        while self._unsaid:
            if not self._sent(self._unsaid[0]):
                return False
            del self._unsaid[0]
        self._slow = False
        return True

    def _sent(self, message: Message, descriptor: int | None = None) -> bool:
        try:
            send(self._peer, message, descriptor, socket.MSG_DONTWAIT if self._slow else 0)
        except BlockingIOError:
            self._slow = True
        except OSError:
            pass
        else:
            return True
        return False

    def _hear(self, message: Registered | Refused) -> None:
        self._awaited = False
        if self._asked is not None:
            self._answer = message
            if isinstance(message, Registered):
                self._registered[message.backing] = self._asked
        elif isinstance(message, Registered) and message.backing not in self._registered:
            # Too late: nobody knows of it.
            self._say(Unregister(message.backing))
        self._catch_up()

    # Those take it.

    def _ask(self, descriptor: int, file: File) -> Registered | Refused | None:
        with self._line:
            if self._gone or self._awaited or not self._catch_up() or not self._sent(Register(), descriptor):
                return None
            asked = self._peer
            self._asked, self._awaited, self._answer = file, True, None
            self._line.wait_for(lambda: self._answer or self._gone or self._peer is not asked, PATIENCE)
            self._asked = None
            return self._answer

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
                continue
            if isinstance(message, Yield):
                os._exit(SUPERSEDED)
            with self._line:
                self._gone = message is None
                if isinstance(message, Registered | Refused):
                    self._hear(message)
                self._line.notify_all()

    def _returned(self) -> bool:
        """Hands the device to the next holder, if there is one."""
        try:
            peer = _connected(self._path)
        except (FileNotFoundError, ConnectionRefusedError):
            return False
        except OSError as error:
            # As when too many files are open: there may be room again.
            log.warning("the holder at %s cannot be reached: %s", self._path, error.strerror)
            return False
        with self._line:
            # What is said from now on, it is told beside.
            self._unsaid.clear()
            told = returns(self._agreed, self._kept, self._registered)
        try:
            send(peer, told[0], self._device)
            for more in told[1:]:
                send(peer, more)
        except OSError as error:
            log.warning("the holder at %s did not take the mount: %s", self._path, error.strerror)
            peer.close()
            return False
        self._goes_on_with(peer)
        return True

    def _goes_on_with(self, peer: socket.socket) -> None:
        with self._line:
            self._peer.close()
            self._peer = peer
            self._gone = self._slow = self._awaited = False
            self._catch_up()
            self._line.notify_all()


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
    return _bounded(peer)


def _bounded(peer: socket.socket) -> socket.socket:
    """Sending waits for room no longer than `PATIENCE`; listening waits for ever."""
    whole, part = divmod(PATIENCE, 1)
    patience = _SECONDS_AND_MICROSECONDS.pack(int(whole), int(part * 1e6))
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, patience)
    return peer
