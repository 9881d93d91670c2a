"""Where clients come that are no children of the holder, and are told which mount to serve: lines of JSON each way."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import socket
from collections.abc import Mapping
from dataclasses import replace
from itertools import count
from pathlib import Path

from paddleflow.sockets import listening, may_come, peer_of
from pf_csi.holder.assigning import Caller, assignments

logger = logging.getLogger(__name__)

SOCKET = "door"
_LONGEST = 4096


def listening_for(path: Path, user: int) -> socket.socket:
    """A socket that this user can open, too."""
    listener = listening(path)
    path.parent.chmod(0o711)
    os.chown(path, user, -1, follow_symlinks=False)
    return listener


class Door:
    """For the thread of one event loop."""

    def __init__(self, user: int) -> None:
        self._user = user
        self._wanted: dict[str, None] = {}
        self._expected: dict[str, str] = {}
        self._callers: dict[int, Caller] = {}
        self._writers: dict[int, asyncio.StreamWriter] = {}
        self._numbers = count()
        self.changed = asyncio.Event()
        """Somebody serves another mount than before."""

        self.all_expected = asyncio.Event()
        """What is not expected is not there: whatever an earlier holder has left is known."""

    async def serve(self, listener: socket.socket) -> asyncio.Server:
        return await asyncio.start_unix_server(self._come, sock=listener, limit=_LONGEST)

    @property
    def expected(self) -> Mapping[str, str]:
        """The volumes of keys for which a client should be there, or come soon."""
        return self._expected

    @property
    def serving(self) -> Mapping[str, str]:
        """The name of whoever serves the mount of a key."""
        staying = [caller for caller in self._callers.values() if caller.key and not caller.leaving]
        return {caller.key: caller.name for caller in staying}

    def expect(self, key: str, volume: str) -> None:
        """Somebody should come for it, who is not told yet."""
        self._expected[key] = volume
        self.changed.set()

    def forget(self, key: str) -> None:
        """Nothing is left of it."""
        self._wanted.pop(key, None)
        self._expected.pop(key, None)
        self.changed.set()

    def want(self, key: str) -> None:
        """Somebody is to serve it from now on, unless nothing is left of it by now."""
        if key not in self._expected:
            return
        self._wanted[key] = None
        self._settle()

    def unwant(self, key: str) -> None:
        """Whoever serves it ends by himself."""
        self._wanted.pop(key, None)

    def end(self, key: str) -> None:
        """Whoever serves it does not answer, and ends at once."""
        for number, caller in self._callers.items():
            if caller.key == key:
                self._say(number, {"end": True})

    async def _come(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer, number = peer_of(writer.get_extra_info("socket")), next(self._numbers)
        self._writers[number] = writer
        try:
            if not may_come(peer, [self._user]):
                logger.warning("a client is turned away", extra={"user": peer.user})
                return
            while line := await reader.readline():
                self._callers[number] = _caller(number, line)
                self._settle()
        except (ConnectionError, ValueError, KeyError, TypeError) as error:
            logger.warning("a client is not understood", extra={"why": type(error).__name__})
        except asyncio.CancelledError:
            # The process ends, and nobody is sent anywhere. To end as cancelled would be logged as a fault.
            self._wanted.clear()
        finally:
            gone = self._callers.pop(number, None)
            self._writers.pop(number).close()
            if gone is not None and gone.key:
                logger.info("a client is gone", extra={"client": gone.name, "key": gone.key})
            self._settle()

    def _settle(self) -> None:
        for each in assignments(self._wanted, [self._callers[number] for number in sorted(self._callers)]):
            caller = self._callers[each.number] = replace(self._callers[each.number], key=each.key)
            logger.info("a client serves", extra={"client": caller.name, "key": each.key})
            self._say(each.number, {"serve": each.key})
        self.changed.set()

    def _say(self, number: int, order: Mapping[str, object]) -> None:
        self._writers[number].write(json.dumps(order).encode() + b"\n")


def _caller(number: int, line: bytes) -> Caller:
    told = json.loads(line)
    return Caller(number, str(told["name"]), str(told["key"]), bool(told["leaving"]))
