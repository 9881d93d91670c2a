"""Answers questions about a mount, on a socket in its folder: one line of JSON each way, or many lines of answer.

What takes long is told of again and again, and ends when whoever asked hangs up.
Who may read the folder of the mount may ask; that is who mounted it. No answer holds a secret.
"""

from __future__ import annotations

import json
import logging
import select
import socket
import threading
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from paddleflow.sockets import address
from pf_fuse.threads import started, started_if_room

log = logging.getLogger(__name__)

SOCKET = "control"
"""The name of the socket in the folder."""
_LINE_MOST = 1 << 20
_CALLERS = 64
"""That are answered at once."""
_PATIENCE = 10.0
"""Seconds that somebody who asks may take to do so."""

_AGAIN = 1.0
"""Seconds until somebody is listened to again after that could not be done."""

Answer = Mapping[str, Any]
Answering = Callable[[Answer], Answer | Iterator[Answer]]
"""Given what was asked beside the question's name. What is told again and again is closed when nobody hears it."""


class Control:
    """Serves the socket; each who asks by a thread of its own, since an answer may take as long as an upload."""

    def __init__(self, folder: Path, questions: Mapping[str, Answering]) -> None:
        self._path = folder / SOCKET
        self._questions = questions
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._ended = threading.Event()

    def begin(self) -> None:
        """Another process may have left its socket."""
        self._path.unlink(missing_ok=True)
        with address(self._path) as short:
            self._socket.bind(short)
        self._path.chmod(0o600)
        self._socket.listen(8)
        started("control", self._serve)

    def end(self) -> None:
        self._ended.set()
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._path.unlink(missing_ok=True)

    def _serve(self) -> None:
        places = threading.BoundedSemaphore(_CALLERS)
        while True:
            places.acquire()
            try:
                caller, _ = self._socket.accept()
            except OSError as error:
                places.release()
                if self._ended.is_set():
                    return
                # As when too many files are open: there may be room again.
                log.warning("nobody can ask about the mount: %s", error.strerror)
                self._ended.wait(_AGAIN)
                continue
            if not started_if_room("control-answer", self._speak, caller, places):
                # He is told by the end of what he hears, and others are heard.
                caller.close()
                places.release()

    def _speak(self, caller: socket.socket, places: threading.BoundedSemaphore) -> None:
        try:
            with caller, suppress(OSError):
                caller.settimeout(_PATIENCE)
                answer = self._answer(_line(caller))
                if isinstance(answer, Mapping):
                    _say(caller, answer)
                    return
                with closing(_spoken(answer)) as answers:
                    for each in answers:
                        if _gone(caller):
                            return
                        _say(caller, each)
        finally:
            places.release()

    def _answer(self, line: bytes) -> Answer | Iterator[Answer]:
        try:
            asked = json.loads(line)
            answering = self._questions[asked["ask"]]
        except (ValueError, KeyError, TypeError):
            return {"error": f'ask one of {", ".join(self._questions)}, as in {{"ask": "stats"}}'}
        try:
            return answering(asked)
        except (OSError, TypeError, ValueError) as error:
            return {"error": str(error)}


def _spoken(answers: Iterator[Answer]) -> Generator[Answer, None, None]:
    """With what went wrong at the end."""
    try:
        yield from answers
    except (OSError, ValueError) as error:
        yield {"error": str(error)}


def _gone(caller: socket.socket) -> bool:
    """True if whoever asked has hung up; saying something would find that out only the second time."""
    asking = select.poll()
    asking.register(caller, select.POLLIN)
    return bool(asking.poll(0)) and not caller.recv(1, socket.MSG_PEEK)


def _say(caller: socket.socket, answer: Answer) -> None:
    caller.sendall(json.dumps(answer).encode() + b"\n")


def _line(peer: socket.socket) -> bytes:
    """Up to the end of a line, or of what the peer says."""
    data = b""
    while not data.endswith(b"\n") and len(data) < _LINE_MOST:
        piece = peer.recv(_LINE_MOST)
        if not piece:
            break
        data += piece
    return data
