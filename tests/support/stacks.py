"""Whole stacks run by the command `pf`, for tests that start, break and move them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import paddleflow
from pf_kit.embedded.processes import Identity, identify, is_alive
from pf_stack.client_config import Entry, read_entry
from pf_stack.endpoints import read_endpoints
from pf_stack.layout import Layout
from support.ordinary import OrdinaryPython
from support.servers import short_folder

PATIENCE = 40.0


@dataclass(slots=True)
class Stack:
    """One data folder, and the home of its user."""

    folder: Path
    runner: OrdinaryPython = field(default_factory=lambda: OrdinaryPython(sys.executable))
    is_default: bool = False
    """True for the data folder that is used if none is named."""
    name: str = "data"
    """Of the data folder otherwise."""

    @property
    def data(self) -> Path:
        return self.home / ".local" / "share" / "paddleflow" if self.is_default else self.folder / self.name

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def layout(self) -> Layout:
        return Layout(self.data, is_default=self.is_default)

    @property
    def entry(self) -> Entry:
        """Where to log in, and how."""
        entry = read_entry((self.data / "client" / "paddleflow.ini").read_text())
        assert entry is not None
        return entry

    @property
    def port(self) -> int:
        """Where callers find it on the loopback address."""
        return read_endpoints(self.layout)["queue"].port

    def command(self, *arguments: str) -> list[str]:
        return [self.runner.python, "-P", "-m", "pf_stack", *arguments]

    def options(self) -> dict[str, Any]:
        """How to run a command of this user's."""
        own = {"HOME": str(self.home)} | ({} if self.is_default else {"PF_DATA": str(self.data)})
        return {"env": {**_bare_environment(), **own, **self.runner.environment}, "cwd": "/", **self.runner.account}

    def pf(self, *arguments: str, status: int = 0) -> str:
        """Runs `pf`, sees that it ends with this status, and returns what it said."""
        done = self._run(*arguments)
        said = done.stdout + done.stderr
        assert done.returncode == status, f"exit status {done.returncode}:\n{said}"
        return said

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Runs `pf` beside the test."""
        command, options = self.command(*arguments), self.options()
        process: subprocess.Popen[str] = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options
        )
        return process

    def status(self) -> dict[str, Any]:
        return dict(json.loads(self._run("status", "-o", "json").stdout))

    def processes(self) -> dict[str, dict[str, Any]]:
        return {process["name"]: process for process in self.status()["processes"]}

    def pid(self, name: str) -> int:
        return int(self.processes()[name]["pid"])

    def identities(self) -> list[Identity]:
        """All that runs for this stack now."""
        found = (identify(process["pid"]) for process in self.processes().values() if process["pid"])
        return [identity for identity in found if identity is not None]

    def kill(self, name: str) -> None:
        os.kill(self.pid(name), signal.SIGKILL)

    def connect(self) -> paddleflow.PaddleFlow:
        """A client, as root."""
        entry = self.entry
        return paddleflow.connect(entry.host, user=entry.name, password=entry.password)

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(self.command(*arguments), capture_output=True, text=True, timeout=90, **self.options())

    def remove(self) -> None:
        """Ends everything and sees that nothing is left."""
        self.pf("down")
        assert not list(processes_of(self.data))
        shutil.rmtree(self.folder)
        # Elsewhere if the path of the data folder is long or odd.
        shutil.rmtree(self.layout.sockets, ignore_errors=True)


@contextmanager
def new_stack(**chosen: Any) -> Iterator[Stack]:
    """A data folder of its own, for which nothing runs yet."""
    stack = Stack(short_folder(), **chosen)
    try:
        yield stack
    finally:
        stack.remove()


def processes_of(folder: Path) -> Iterator[int]:
    """Every process that has to do with a folder: it runs there, or was told of it."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid() and _mentions(entry, folder):
            yield int(entry.name)


def wait_until(condition: Callable[[], bool], patience: float = PATIENCE) -> None:
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline, f"did not happen within {patience} s"
        time.sleep(0.02)


def all_gone(identities: list[Identity]) -> bool:
    return not any(map(is_alive, identities))


def _mentions(entry: Path, folder: Path) -> bool:
    try:
        here = str((entry / "cwd").readlink())
        told = (entry / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return here.startswith(str(folder)) or any(part.startswith(os.fsencode(folder)) for part in told)


def _bare_environment() -> dict[str, str]:
    """What the machine gives everyone; nothing of whoever runs the tests."""
    kept = ("PATH", "LANG", "LD_LIBRARY_PATH", "PYTHONPATH")
    return {name: os.environ[name] for name in kept if name in os.environ}
