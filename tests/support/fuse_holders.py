"""Holders for tests, each of a mirror of a folder."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pf_fuse.holder.settings import HolderSettings
from support.fuse_mounts import PATIENCE, detach
from support.waiting import wait_until


@dataclass(frozen=True, slots=True)
class Client:
    """One that has served."""

    pid: int
    begun: float
    resumed: bool
    kept: str


@dataclass(frozen=True, slots=True)
class Holding:
    """A holder's process and what it holds."""

    root: Path
    place: Path
    process: subprocess.Popen[bytes]

    @property
    def clients(self) -> list[Client]:
        """All that have served, in order."""
        try:
            lines = Path(f"{self.root}.clients").read_text().splitlines()
        except FileNotFoundError:
            return []
        fields = (line.split(" ", 3) for line in lines)
        return [Client(int(pid), float(begun), resumed == "1", kept) for pid, begun, resumed, kept in fields]

    def served(self, times: int) -> Client:
        """The client that serves, once so many have begun to."""
        deadline = time.monotonic() + PATIENCE
        while len(self.clients) < times:
            assert time.monotonic() < deadline, self.errors
            assert self.process.poll() is None, self.errors
            time.sleep(0.002)
        return self.clients[-1]

    def kill_client(self) -> float:
        """The one that serves; the next one serves when this returns. How many seconds there was none."""
        count = len(self.clients)
        client, begun = self.served(count), time.monotonic()
        os.kill(client.pid, signal.SIGKILL)
        return self.served(count + 1).begun - begun

    def says(self, text: str) -> None:
        """Waits for it."""
        deadline = time.monotonic() + PATIENCE
        while text not in self.errors:
            assert time.monotonic() < deadline, self.errors
            time.sleep(0.005)

    @property
    def errors(self) -> str:
        return Path(f"{self.root}.errors").read_text()

    def end(self) -> int:
        detach(self.place)
        self.process.terminate()
        try:
            return self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            for client in self.clients[-1:]:
                os.kill(client.pid, signal.SIGKILL)
            self.process.wait()
            raise


def hold(folder: Path, manners: dict[str, Any] | None = None, **how: Any) -> Holding:
    """A holder of a mirror, whose clients it starts; `how` is that of `HolderSettings`."""
    root, place = folder / "root", folder / "place"
    for one in (root, place):
        # Looking whether it is there would ask a dead mount.
        with suppress(FileExistsError):
            os.mkdir(one)
    journal = {"journal": str(folder / "journal"), "lasts": 60.0}
    command = [sys.executable, "-m", "support.fuse_held_mirror", str(root), json.dumps(journal | (manners or {}))]
    settings = HolderSettings(place=str(place), socket=str(folder / "socket"), **({"command": command} | how))
    paths = {"PYTHONPATH": os.pathsep.join(sys.path)}
    with Path(f"{root}.errors").open("w") as errors:
        arguments = [sys.executable, "-m", "pf_fuse.holder", settings.encode()]
        return Holding(root, place, subprocess.Popen(arguments, env=os.environ | paths, stderr=errors))


def until_it_listens(path: Path) -> None:
    """A holder's socket is there a moment before anybody hears."""

    def listens() -> bool:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as peer:
            return path.exists() and not peer.connect_ex(str(path))

    wait_until(listens)
