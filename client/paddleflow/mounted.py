"""What is mounted on this machine: asking whoever serves it, and taking it away."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from collections.abc import Collection, Generator, Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from paddleflow.mountinfo import read_mounts
from paddleflow.mounting import state_folder
from paddleflow.problems import FailedPrecondition, NotFound
from paddleflow.sockets import address, peer_of

_SOCKET = "control"
_HOLDER = "holder"
"""The socket of the process that keeps a mount, which ends last."""
_PATIENCE = 10.0
_LOOK = 0.05
_LONGEST = 4 << 20
"""Bytes of an answer."""
_PIECE = 1 << 16


class NotMounted(NotFound):
    """Nobody serves a mount there."""

    reason = "NOT_MOUNTED"


class Unanswered(FailedPrecondition):
    """Whoever serves the mount cannot do what it was asked; the text says why."""

    reason = "UNANSWERED"


class SlowToAnswer(Unanswered):
    """Whoever serves the mount has not answered in time; it may later."""

    reason = "SLOW_TO_ANSWER"


class _TooLong(Exception):
    """An answer has no end."""


class StillMounted(FailedPrecondition):
    """The mount cannot be taken away; the text says why."""

    reason = "STILL_MOUNTED"


def mount_of(path: Path, environ: Mapping[str, str]) -> Path | None:
    """Where a mount of the user's is that a path without links lies in, if there is one."""
    return next((place for place in (path, *path.parents) if is_served(state_folder(place, environ))), None)


def ask(place: Path, environ: Mapping[str, str], question: str) -> Mapping[str, Any]:
    """What whoever serves your mount at a place answers."""
    return ask_whoever_serves(state_folder(place, environ), place, question)


def ask_whoever_serves(
    state: Path, place: Path, question: str, *, patience: float | None = _PATIENCE, **about: object
) -> Mapping[str, Any]:
    """What whoever serves the mount with this folder answers.

    Raises NotMounted if nobody does, SlowToAnswer if not in time, and Unanswered.
    """
    with closing(_answers(state, place, {"ask": question, **about}, patience)) as answers:
        return next(answers)


def follow(
    place: Path, environ: Mapping[str, str], question: str, **about: object
) -> Generator[Mapping[str, Any], None, None]:
    """What whoever serves your mount at a place answers, line after line; to close it ends what it is about."""
    asked = {"ask": question, **about}
    with closing(_answers(state_folder(place, environ), place, asked, _PATIENCE)) as answers:
        yield from answers


def unmount(place: Path, environ: Mapping[str, str], *, force: bool = False) -> None:
    """As `take_away`, of your mount at a place."""
    take_away(place, state_folder(place, environ), force=force)


def take_away(place: Path, state: Path, *, force: bool = False, patience: float = 600.0) -> None:
    """Returns when the mount is gone and what was written is uploaded; StillMounted if it cannot be taken away.

    By force it is gone at once for who comes later, and who uses it may go on.
    """
    if is_mounted(place):
        _take_off(place, force=force)
    deadline = time.monotonic() + patience
    while is_held(state) and not force:
        if time.monotonic() > deadline:
            raise StillMounted(f"{place} is unmounted, and what was written is still being uploaded")
        time.sleep(_LOOK)


def _take_off(place: Path, *, force: bool) -> None:
    command = ["umount", *["--lazy"] * force] if os.geteuid() == 0 else ["fusermount3", "-u", *["-z"] * force]
    done = subprocess.run([*command, str(place)], capture_output=True, text=True, check=False)
    if done.returncode:
        why = done.stderr.strip() or f"{command[0]} failed with {done.returncode}"
        raise StillMounted(f"{why}; end what uses it, or unmount with --force")


def is_mounted(place: Path) -> bool:
    """By the kernel's list: looking there could take for ever."""
    return read_mounts().top(str(place)) is not None


def is_held(state: Path) -> bool:
    """Whether the process is there that keeps a mount; one that was killed leaves its socket."""
    return _listening(state / _HOLDER, socket.SOCK_SEQPACKET) is not None


def is_served(state: Path) -> bool:
    """Whether a process serves the mount with this folder."""
    return _listening(state / _SOCKET, socket.SOCK_STREAM) is not None


def processes_of(state: Path) -> Collection[int]:
    """Who keeps the mount with this folder, and who serves it, as far as they are there."""
    found = (_listening(state / _HOLDER, socket.SOCK_SEQPACKET), _listening(state / _SOCKET, socket.SOCK_STREAM))
    return {process for process in found if process is not None}


def _listening(path: Path, kind: socket.SocketKind) -> int | None:
    """The process that listens there; None if there is none."""
    with socket.socket(socket.AF_UNIX, kind) as probe:
        try:
            with address(path) as short:
                probe.connect(short)
        except (FileNotFoundError, ConnectionRefusedError):
            return None
        return peer_of(probe).process


def _answers(
    state: Path, place: Path, question: Mapping[str, object], patience: float | None
) -> Generator[Mapping[str, Any], None, None]:
    heard = 0
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        lines = _lines(asking, state / _SOCKET, question, patience)
        while line := _next(lines, place, patience):
            heard += 1
            yield _understood(line, place)
    if not heard:
        raise NotMounted(f"whoever serves the mount at {place} has just ended; if it was not unmounted, ask again")


def _next(lines: Iterator[bytes], place: Path, patience: float | None) -> bytes:
    try:
        return next(lines, b"")
    except (FileNotFoundError, ConnectionRefusedError):
        raise NotMounted(f"no filesystem of yours is mounted at {place}") from None
    except TimeoutError:
        text = f"whoever serves the mount at {place} has not answered in {patience or 0:.0f} s; ask again"
        raise SlowToAnswer(text) from None
    except _TooLong:
        raise Unanswered(f"what whoever serves the mount at {place} says is too long to be an answer") from None


def _lines(
    asking: socket.socket, path: Path, question: Mapping[str, object], patience: float | None
) -> Iterator[bytes]:
    """Of the answer, each in time as a whole; they end where whoever serves ends."""
    until, kept = _until(patience), bytearray()
    _wait_until(asking, until)
    with address(path) as short:
        asking.connect(short)
    with suppress(ConnectionError):
        _wait_until(asking, until)
        asking.sendall(json.dumps(question).encode() + b"\n")
        while line := _line(asking, kept, until):
            yield line
            until = _until(patience)


def _line(asking: socket.socket, kept: bytearray, until: float | None) -> bytes:
    """The next one; nothing where whoever serves has ended. What follows it is kept."""
    while b"\n" not in kept:
        if len(kept) > _LONGEST:
            raise _TooLong
        _wait_until(asking, until)
        piece = asking.recv(_PIECE)
        if not piece:
            return b""
        kept += piece
    line = bytes(kept[: kept.index(b"\n") + 1])
    del kept[: len(line)]
    return line


def _until(patience: float | None) -> float | None:
    return None if patience is None else time.monotonic() + patience


def _wait_until(asking: socket.socket, until: float | None) -> None:
    """TimeoutError if that is over."""
    left = None if until is None else until - time.monotonic()
    if left is not None and left <= 0:
        raise TimeoutError
    asking.settimeout(left)


def _understood(line: bytes, place: Path) -> Mapping[str, Any]:
    """Whoever serves may be anybody, and say anything."""
    try:
        answer = json.loads(line)
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict):
        raise Unanswered(f"what whoever serves the mount at {place} says is no answer")
    if set(answer) == {"error"}:
        raise Unanswered(str(answer["error"]))
    return answer
