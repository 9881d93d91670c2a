"""Builds the client programs of other languages from the protos, below .cache so that a second run costs little."""

from __future__ import annotations

import fcntl
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.repository import ROOT

SOURCES = ROOT / "tests" / "e2e" / "clients"
CACHE = ROOT / ".cache" / "clients"
GO_MODULE = "github.com/PaddlePaddle/PaddleFlow"
TS_PROTO = "outputServices=grpc-js,esModuleInterop=true,importSuffix=.js,forceLong=bigint,env=node"


def require(program: str, *version_command: str, at_least: tuple[int, int]) -> None:
    """Skips the test where the program is missing or older."""
    wanted = ".".join(map(str, at_least))
    if shutil.which(program) is None:
        pytest.skip(f"{program} is missing: install {program} {wanted} or newer")
    text = subprocess.run([program, *version_command], check=True, capture_output=True, text=True).stdout
    found = re.search(r"(\d+)\.(\d+)", text)
    if found is None or (int(found[1]), int(found[2])) < at_least:
        pytest.skip(f"{program} is too old: needs {wanted} or newer, this is {text.strip()}")


def run(command: Sequence[str | Path], folder: Path, **variables: str) -> None:
    result = subprocess.run(command, cwd=folder, env=os.environ | variables, capture_output=True, text=True)
    assert result.returncode == 0, f"{command}\n{result.stdout}{result.stderr}"


def protoc(*arguments: str, extra: Sequence[str] = ()) -> None:
    protos = ROOT / "protos"
    status = importlib.util.find_spec("google.rpc.status_pb2")
    assert status is not None
    assert status.origin is not None
    common = Path(status.origin).parents[2]  # googleapis-common-protos has the sources beside its modules
    files = [str(path.relative_to(protos)) for path in sorted((protos / "paddleflow").rglob("*.proto"))]
    command = [sys.executable, "-m", "grpc_tools.protoc", f"--proto_path={protos}", f"--proto_path={common}"]
    run([*command, *arguments, *files, *extra], protos)


@contextmanager
def workshop(name: str) -> Iterator[Path]:
    """A folder with a copy of the program's sources, for one builder at a time."""
    folder = CACHE / name
    folder.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        shutil.copytree(SOURCES / name, folder, dirs_exist_ok=True)
        yield folder


def build_go() -> list[str]:
    """Builds the Go program; returns how to call it."""
    require("go", "version", at_least=(1, 24))
    with workshop("go") as folder:
        caches = {"GOMODCACHE": str(CACHE / "gomod"), "GOCACHE": str(CACHE / "gocache")}
        # As fast as it can be compiled: without C, without optimising, and without what shows calls as web pages.
        caches |= {"GOTOOLCHAIN": "local", "CGO_ENABLED": "0"}
        quick = ["-gcflags=all=-N -l", "-ldflags=-s -w", "-tags=grpcnotrace"]
        build = ["go", "build", "-modcacherw", *quick, "-o"]
        plugins = ["google.golang.org/protobuf/cmd/protoc-gen-go", "google.golang.org/grpc/cmd/protoc-gen-go-grpc"]
        run([*build, "plugins/", *plugins], folder, **caches)
        protoc(
            *(f"--plugin={folder}/plugins/{Path(plugin).name}" for plugin in plugins),
            *(
                f"--{kind}_{what}"
                for kind in ("go", "go-grpc")
                for what in (f"out={folder}", f"opt=module={GO_MODULE}")
            ),
        )
        run([*build, "client", "."], folder, **caches)
        return [str(folder / "client")]


def build_typescript() -> list[str]:
    """Builds the TypeScript program; returns how to call it."""
    require("node", "--version", at_least=(18, 0))
    require("npm", "--version", at_least=(9, 0))
    with workshop("ts") as folder:
        install(folder)
        api = folder / "api"
        shutil.rmtree(api, ignore_errors=True)
        api.mkdir()
        plugin = f"--plugin=protoc-gen-ts_proto={folder}/node_modules/.bin/protoc-gen-ts_proto"
        rpc = ["google/rpc/status.proto", "google/rpc/error_details.proto"]
        protoc(plugin, f"--ts_proto_out={api}", f"--ts_proto_opt={TS_PROTO}", extra=rpc)
        run(["node_modules/.bin/tsc"], folder)
        return ["node", str(folder / "build" / "main.js")]


def install(folder: Path) -> None:
    """What `npm ci` does, unless it was done for the same lock already."""
    done = folder / "installed.json"
    lock = (folder / "package-lock.json").read_text()
    if not done.is_file() or done.read_text() != lock:
        run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], folder, npm_config_cache=str(CACHE / "npm"))
        done.write_text(lock)


def call(command: Sequence[str], environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, timeout=50)
