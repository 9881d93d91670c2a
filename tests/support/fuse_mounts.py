"""Mounts for tests: each served by a process of its own, gone when the test is over whatever happens."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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


@dataclass(frozen=True, slots=True)
class MirrorMount:
    """A folder, and where it is mounted."""

    root: Path
    place: Path
    process: subprocess.Popen[str]
    agreed: Mapping[str, int]

    def statistics(self) -> Any:
        """What the serving process counted."""
        with suppress(FileNotFoundError):
            (self.root / "statistics").unlink()
        (self.place / "statistics").exists()
        return json.loads((self.root / "statistics").read_text())

    def count(self, ask: str) -> int:
        return int(self.statistics()["figures"].get(ask, {"count": 0})["count"])

    def end(self) -> str:
        """Unmounts and waits; what the process said."""
        detach(self.place)
        try:
            _, errors = self.process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            _, errors = self.process.communicate()
            errors += "\nhad to be killed"
        return errors

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


def begin(root: Path, place: Path, **how: Any) -> MirrorMount:
    """Mounts a mirror of a folder; `how` is that of `Mounting`."""
    for folder in (root, place):
        folder.mkdir(exist_ok=True)
    told = Mounting(root=str(root), place=str(place), **how)
    command = [sys.executable, "-m", "support.fuse_mirror_process", told.encode()]
    paths = {"PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(
        command, env=os.environ | paths, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        _, errors = process.communicate(timeout=PATIENCE)
        raise AssertionError(f"nothing was mounted: {errors}")
    return MirrorMount(root, place, process, json.loads(line))
