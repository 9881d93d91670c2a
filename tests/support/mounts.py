"""Mounts as people make them: two processes of `pf-fuse`, begun by the client's own code."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paddleflow.models.mounts import MountDescription, RemoteFolder
from paddleflow.mounted import NotMounted, ask, unmount
from paddleflow.mounting import MountOptions, settings_of, start, state_folder
from support.fuse_mounts import detach
from support.servers import short_folder
from support.stacks import wait_until


@dataclass(frozen=True)
class Mount:
    """A mount, and the folder of its user."""

    place: Path
    home: Path

    @property
    def environ(self) -> Mapping[str, str]:
        return {"XDG_CACHE_HOME": str(self.home)}

    @property
    def log(self) -> str:
        return (state_folder(self.place, self.environ) / "log").read_text()

    def begin(self, url: str, properties: Mapping[str, str], options: MountOptions | None = None) -> None:
        described = MountDescription("fs-root-test", False, RemoteFolder(url, {}, properties))
        start(settings_of(described, self.place, options or MountOptions(), self.environ), os.environ)

    def stats(self) -> Mapping[str, Any]:
        return ask(self.place, self.environ, "stats")

    def server(self) -> int:
        """The process that serves it now."""
        pid: int = self.stats()["process"]["id"]
        return pid

    def kill(self) -> None:
        """Whoever serves it is killed; another one serves when this returns."""
        killed = self.server()
        os.kill(killed, signal.SIGKILL)
        wait_until(lambda: self.server_if_any() not in (0, killed))

    def server_if_any(self) -> int:
        with suppress(NotMounted, ValueError):
            return self.server()
        return 0

    def lose_power(self) -> None:
        """All of its processes are killed, and nothing is left of what it had on the disk."""
        client = self.server()
        holder = parent_of(client)
        for process in (holder, client):
            os.kill(process, signal.SIGKILL)
        detach(self.place)
        shutil.rmtree(self.home)
        self.home.mkdir()

    def end(self) -> None:
        unmount(self.place, self.environ)

    def remove(self) -> None:
        detach(self.place)
        wait_until(lambda: not (state_folder(self.place, self.environ) / "holder").exists())
        shutil.rmtree(self.home)
        self.place.rmdir()


@contextmanager
def new_mount() -> Iterator[Mount]:
    """A place where nothing is mounted yet; whatever is mounted is gone afterwards."""
    mount = Mount(short_folder(), short_folder())
    try:
        yield mount
    finally:
        mount.remove()


def parent_of(process: int) -> int:
    status = Path(f"/proc/{process}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("PPid")).split()[1])


def children(process: int) -> list[int]:
    """Those that it has begun itself; none if it has ended."""
    try:
        return [int(pid) for pid in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except OSError:
        return []
