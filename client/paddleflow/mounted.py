"""What is mounted on this machine: asking whoever serves it, and taking it away."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from paddleflow.mounting import state_folder
from paddleflow.problems import FailedPrecondition, NotFound

_SOCKET = "control"
_HOLDER = "holder"
"""The socket of the process that keeps a mount, which ends last."""
_PATIENCE = 10.0
_LOOK = 0.05
_PIECE = 1 << 16


class NotMounted(NotFound):
    """Nobody serves a mount there."""

    reason = "NOT_MOUNTED"


class StillMounted(FailedPrecondition):
    """The mount cannot be taken away; the text says why."""

    reason = "STILL_MOUNTED"


def ask(place: Path, environ: Mapping[str, str], question: str) -> Mapping[str, Any]:
    """What whoever serves the mount at a place answers."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.settimeout(_PATIENCE)
        try:
            with _address(state_folder(place, environ)) as address:
                asking.connect(address)
        except (FileNotFoundError, ConnectionRefusedError):
            raise NotMounted(f"no filesystem of yours is mounted at {place}") from None
        text = _exchanged(asking, question)
    if not text:
        raise NotMounted(f"whoever serves the mount at {place} has just ended; if it was not unmounted, ask again")
    answer: Mapping[str, Any] = json.loads(text)
    return answer


def unmount(place: Path, environ: Mapping[str, str], *, force: bool = False, patience: float = 600.0) -> None:
    """Returns when the mount is gone and what was written is uploaded; StillMounted if it cannot be taken away.

    By force it is gone at once for who comes later, and who uses it may go on.
    """
    held = state_folder(place, environ) / _HOLDER
    command = ["umount", *["--lazy"] * force] if os.geteuid() == 0 else ["fusermount3", "-u", *["-z"] * force]
    done = subprocess.run([*command, str(place)], capture_output=True, text=True, check=False)
    if done.returncode:
        why = done.stderr.strip() or f"{command[0]} failed with {done.returncode}"
        raise StillMounted(f"{why}; end what uses it, or unmount with --force")
    deadline = time.monotonic() + patience
    while held.exists() and not force:
        if time.monotonic() > deadline:
            raise StillMounted(f"{place} is unmounted, and what was written is still being uploaded")
        time.sleep(_LOOK)


def _exchanged(asking: socket.socket, question: str) -> bytes:
    """The answer; nothing if whoever serves ends meanwhile."""
    try:
        asking.sendall(json.dumps({"ask": question}).encode() + b"\n")
        return b"".join(iter(lambda: asking.recv(_PIECE), b""))
    except ConnectionError:
        return b""


@contextmanager
def _address(folder: Path) -> Iterator[str]:
    """Of the socket, however long the path of the folder is: the kernel takes no more than 107 bytes."""
    descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{descriptor}/{_SOCKET}"
    finally:
        os.close(descriptor)
