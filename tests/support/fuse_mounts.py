"""Mounts for tests: each served by a process of its own, gone when the test is over whatever happens."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paddleflow.mountinfo import read_mounts
from pf_fuse.kernel import libc
from pf_fuse.kernel.libc import Unmounting
from support.fuse_mirror_process import Mounting

PATIENCE = 20.0


def missing() -> str:
    """Why nothing can be mounted here; empty if it can."""
    if not Path("/dev/fuse").exists():
        return "there is no /dev/fuse"
    return "" if os.geteuid() == 0 else "mounting takes root"


def detach(place: Path) -> None:
    """Takes the mount away, used or not; nothing if there is none."""
    with suppress(OSError):
        libc.unmount(str(place), Unmounting.DETACH)


def detach_below(folder: Path) -> None:
    """Takes all mounts below a folder away, so that whoever removes it removes nothing of what is mounted."""
    for mount in read_mounts().all:
        if Path(mount.place).is_relative_to(folder):
            detach(Path(mount.place))


@dataclass(frozen=True, slots=True)
class MirrorMount:
    """A folder, and where it is mounted."""

    root: Path
    place: Path
    process: subprocess.Popen[str]
    agreed: Mapping[str, int]

    def statistics(self) -> Any:
        """What the serving process counted."""
        self.ask("statistics", "statistics")
        return json.loads(self.root.with_name("statistics").read_text())

    def ask(self, what: str, which: str) -> None:
        """Has the serving process do something."""
        (self.place / f"ask-{what}-{which}-{time.monotonic_ns()}").exists()

    def count(self, ask: str) -> int:
        return int(self.statistics()["figures"].get(ask, {"count": 0})["count"])

    @property
    def errors(self) -> str:
        """What the process complained of."""
        return complaints(self.root).read_text()

    def end(self) -> str:
        """Unmounts and waits; what the process complained of."""
        detach(self.place)
        try:
            self.process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
            return self.errors + "\nhad to be killed"
        return self.errors

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


def complaints(root: Path) -> Path:
    """A file: a pipe that nobody reads would stop whoever complains a lot."""
    return root.with_name("errors")


def begin(root: Path, place: Path, **how: Any) -> MirrorMount:
    """Mounts a mirror of a folder; `how` is that of `Mounting`."""
    for folder in (root, place):
        # Looking whether it is there would ask a dead mount.
        with suppress(FileExistsError):
            os.mkdir(folder)
    told = Mounting(root=str(root), place=str(place), **how)
    command = [sys.executable, "-m", "support.fuse_mirror_process", told.encode()]
    paths = {"PYTHONPATH": os.pathsep.join(sys.path)}
    with complaints(root).open("w") as errors:
        process = subprocess.Popen(command, env=os.environ | paths, stdout=subprocess.PIPE, stderr=errors, text=True)
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        process.communicate(timeout=PATIENCE)
        raise AssertionError(f"nothing was mounted: {complaints(root).read_text()}")
    return MirrorMount(root, place, process, json.loads(line))
