"""Calls name nodes: one of them is active, and any may come, go or stand by."""

from __future__ import annotations

import itertools
import secrets
import time
from typing import TypeVar

from google.protobuf.message import Message

from pf_backends.errors import Unreachable, unreachable
from pf_backends.hdfs.failures import failed, passes
from pf_backends.hdfs.hadoop_pb2 import AnswerHead, CallHead, ConnectionContext, MethodHead
from pf_backends.hdfs.lines import Line, Lines, Machine, parsed, told
from pf_backends.hdfs.settings import HdfsSettings
from pf_backends.wire.messages import Broken

M = TypeVar("M", bound=Message)

_GREETING = b"hrpc\x09\x00\x00"
"""The ninth version of the protocol, for nothing in particular, without proof of who calls."""
_INTERFACE = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
_CONTEXT_CALL = -3
_IN_BUFFERS, _WHOLE = 2, 0
_KEPT = 8.0
"""Seconds; name nodes hang up on those who are silent for ten and more."""
_ATTEMPTS = 5
"""For each name node, if none has ever answered."""
_PAUSE, _LONGEST_PAUSE = 0.05, 2.0
"""Seconds between attempts, twice as many each time."""


class NameNodes:
    """The name nodes of a cluster, called by one user. For many threads.

    A call whose answer was lost comes again with its number: name nodes know it by that, and do nothing twice.
    """

    def __init__(self, settings: HdfsSettings) -> None:
        self._user = settings.user
        self._machines = settings.names
        self._lines = Lines(settings.reach, _KEPT)
        self._active = 0
        self._answered_before = False
        self._client = secrets.token_bytes(16)
        self._numbers = itertools.count()

    def call(self, path: str, method: str, ask: Message, reply: type[M], deadline: float) -> M:
        """What is answered. OSError with the path if it is a refusal, Unreachable if nobody answers."""
        number, pause, why = next(self._numbers) & 0x7FFFFFFF, _PAUSE, ""
        for attempt in itertools.count():
            machine = self._machines[self._active]
            try:
                return self._asked(machine, _frame(self._head(number, attempt), method, ask), path, reply, deadline)
            except (Broken, _Elsewhere) as error:
                why = f"{machine[0]}:{machine[1]} {error.why}"
                self._turn(machine)
            if (attempt + 1) % len(self._machines) == 0:
                if time.monotonic() + pause > deadline or self._is_hopeless(attempt):
                    break
                time.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
        raise unreachable(path, f"no name node answers: {why}")

    def _is_hopeless(self, attempt: int) -> bool:
        """Name nodes that have answered before may only be starting again."""
        return not self._answered_before and attempt + 1 >= _ATTEMPTS * len(self._machines)

    def close(self) -> None:
        self._lines.close()

    def _head(self, number: int, attempt: int) -> CallHead:
        retries = attempt or -1
        return CallHead(kind=_IN_BUFFERS, operation=_WHOLE, call=number, client=self._client, retries=retries)

    def _turn(self, machine: Machine) -> None:
        """To the name node after this one, unless somebody was quicker."""
        if self._machines[self._active] == machine:
            self._active = (self._active + 1) % len(self._machines)

    def _asked(self, machine: Machine, frame: bytes, path: str, reply: type[M], deadline: float) -> M:
        line = self._lines.idle(machine)
        if line is not None:
            try:
                return self._answered(machine, line, frame, path, reply, deadline)
            except Broken:
                # It had been left by the other side, as happens when nothing is asked for a while.
                pass
        return self._answered(machine, self._greeted(machine, deadline), frame, path, reply, deadline)

    def _greeted(self, machine: Machine, deadline: float) -> Line:
        line = self._lines.new(machine, deadline)
        line.until(deadline)
        head = CallHead(kind=_IN_BUFFERS, operation=_WHOLE, call=_CONTEXT_CALL, client=self._client, retries=-1)
        caller = ConnectionContext.Caller(effective_user=self._user)
        context = told(head) + told(ConnectionContext(caller=caller, protocol=_INTERFACE))
        try:
            line.send(_GREETING, len(context).to_bytes(4, "big"), context)
        except Broken:
            self._lines.drop(line)
            raise
        return line

    def _answered(self, machine: Machine, line: Line, frame: bytes, path: str, reply: type[M], deadline: float) -> M:
        try:
            line.until(deadline)
            line.send(frame)
            raw = line.frame()
        except BaseException:
            self._lines.drop(line)
            raise
        head, body = _parts(AnswerHead, raw)
        self._answered_before = True
        if head.status > 1:
            self._lines.drop(line)
        else:
            self._lines.keep(machine, line)
        if head.status:
            _refuse(path, head)
        return parsed(reply, _split(body)[0])


class _Elsewhere(Unreachable):
    """Another name node must be asked, or the same a little later."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


def _refuse(path: str, head: AnswerHead) -> None:
    if passes(head.exception, head.message):
        raise _Elsewhere(head.message.partition("\n")[0])
    raise failed(path, head.exception, head.message)


def _frame(head: CallHead, method: str, ask: Message) -> bytes:
    words = told(head) + told(MethodHead(method=method, protocol=_INTERFACE, version=1)) + told(ask)
    return len(words).to_bytes(4, "big") + words


def _parts(kind: type[M], raw: bytes) -> tuple[M, bytes]:
    first, rest = _split(raw)
    return parsed(kind, first), rest


def _split(raw: bytes) -> tuple[bytes, bytes]:
    """A message, and what comes after it."""
    size, shift, at = 0, 0, 0
    for byte in raw:
        at += 1
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    return raw[at : at + size], raw[at + size :]
