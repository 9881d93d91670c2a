"""Modules of Go, by the proxy and checked by its database of sums, below .cache so that a second run costs nothing."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from support import foreign
from support.repository import ROOT

GO = ROOT / ".cache" / "go"
PLACES = {
    "GOPATH": str(GO / "path"),
    "GOBIN": str(GO / "bin"),
    "GOCACHE": str(GO / "build"),
    "GOFLAGS": "-buildvcs=false",
}


def built(program: str, module: str) -> Path:
    """The program of a module, as in ``example.org/module/cmd/program@v1.2.3``; built once for each version."""
    _, _, version = module.rpartition("@")
    target = GO / "bin" / f"{program}-{version}"
    with _alone():
        if not target.exists():
            foreign.run(["go", "install", module], ROOT, **PLACES)
            (GO / "bin" / program).rename(target)
    return target


def fetched(module: str) -> Path:
    """The folder of a module, as in ``example.org/module@v1.2.3``."""
    with _alone(), tempfile.TemporaryDirectory() as nowhere:
        command = ["go", "mod", "download", "-json", module]
        told = subprocess.run(command, cwd=nowhere, env=_environ(), capture_output=True, text=True)
    assert told.returncode == 0, told.stdout + told.stderr
    return Path(json.loads(told.stdout)["Dir"])


@contextmanager
def _alone() -> Iterator[None]:
    """Several tests may want the same at once."""
    foreign.require("go", "version", at_least=(1, 24))
    GO.mkdir(parents=True, exist_ok=True)
    with (GO / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _environ() -> Mapping[str, str]:
    return os.environ | PLACES
