"""Builds the programs of a cluster that Debian does not have, each once for its go.mod, go.sum and Go.

`go install` refuses modules that replace others, as those of Kubernetes do. So each group has a module of its own below
`modules`, which names the same replacements.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from kube.parts import CACHE, GO_MODULES, PROGRAMS, GoModule, PartsMissing


def build(*names: str) -> None:
    """Builds what is missing or stale of these modules, or of all; another one that builds is waited for."""
    for module in GO_MODULES:
        if not names or module.name in names:
            with alone(module):
                build_module(module)


@contextmanager
def alone(module: GoModule) -> Iterator[None]:
    PROGRAMS.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"{module.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def build_module(module: GoModule) -> None:
    version = fingerprint(module)
    stamp = PROGRAMS / f".{module.name}"
    if stamp.exists() and stamp.read_text() == version:
        return
    for program, package in module.commands.items():
        build_program(module, program, package)
    stamp.write_text(version)


def fingerprint(module: GoModule) -> str:
    """Changes with all that the programs are made of."""
    texts = [(module.folder / name).read_bytes() for name in ("go.mod", "go.sum")]
    known = repr((sorted(module.commands.items()), sorted(module.variables.items()))).encode()
    return hashlib.sha256(b"\0".join([*texts, known])).hexdigest()


def build_program(module: GoModule, program: str, package: str) -> None:
    sys.stderr.write(f"kube: building {program}\n")
    begun = time.monotonic()
    linking = ["-s", "-w", *(f"-X {name}={value}" for name, value in module.variables.items())]
    command = ["go", "build", "-trimpath", "-ldflags", " ".join(linking), "-o", str(PROGRAMS / program), package]
    # Whoever else works here comes first.
    result = subprocess.run(["nice", "-n", "19", *command], cwd=module.folder, env=os.environ | surroundings())
    if result.returncode != 0:
        raise PartsMissing(f"{program} could not be built. Run: cd {module.folder} && {' '.join(command)}")
    sys.stderr.write(f"kube: {program} took {time.monotonic() - begun:.0f} s\n")


def surroundings() -> Mapping[str, str]:
    """Everything that Go keeps lies in one folder, and no other Go is downloaded."""
    return {
        "CGO_ENABLED": "0",
        "GOCACHE": str(CACHE / "go" / "build"),
        "GOMODCACHE": str(CACHE / "go" / "mod"),
        "GOFLAGS": os.environ.get("GOFLAGS", "-modcacherw"),
        "GOTOOLCHAIN": "local",
    }
