"""An object store on the cluster's machine, and what tests see in it."""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from kube.cluster import Cluster
from kube.layout import NODE_ADDRESS
from kube.machine import PATIENCE
from pf_backends.s3.backend import S3Backend
from pf_backends.s3.settings import S3Settings
from pf_backends.wire.messages import Endpoint
from support.repository import ROOT
from support.s3_servers import KEYS, make_bucket
from support.waiting import wait_until

BUCKET = "volumes"
PORT = 8333
ENDPOINT = f"http://{NODE_ADDRESS}:{PORT}"
SETTINGS = S3Settings(Endpoint(NODE_ADDRESS, PORT, tls=False), BUCKET, keys=KEYS, deadline=20.0, attempts=4)


class Store:
    """SeaweedFS in one process."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def start(self) -> None:
        folder = self._cluster.state / "weed"
        folder.mkdir(exist_ok=True)
        credentials = [{"accessKey": KEYS.access, "secretKey": KEYS.secret}]
        identity = {"name": "tester", "credentials": credentials, "actions": ["Admin", "Read", "Write", "List"]}
        (folder / "s3.json").write_text(json.dumps({"identities": [identity]}))
        flags = {
            "dir": folder,
            "ip": NODE_ADDRESS,
            "ip.bind": NODE_ADDRESS,
            "s3.port": PORT,
            "s3.localSocket": folder / "s3.sock",
            **own_ports(),
            "s3.config": folder / "s3.json",
            "s3.port.iceberg": 0,
            "s3.port.lance": 0,
            "webdav": "false",
            "admin.ui": "false",
        }
        program = Path(sys.executable).parent / "weed"
        self._cluster.machine.start(
            "weed", [str(program), "mini", *(f"-{name}={value}" for name, value in flags.items())]
        )
        wait_until(lambda: self._attempt("make", BUCKET).returncode == 0, PATIENCE, pause=0.2)

    def make_bucket(self, name: str) -> None:
        """It may be there already."""
        self._cluster.machine.run(self._command("make", name))

    def names(self, below: str = "") -> list[str]:
        """All objects whose names begin so."""
        found: list[str] = json.loads(self._cluster.machine.run(self._command("list", below)))
        return found

    def read(self, name: str) -> str:
        return self._cluster.machine.run(self._command("read", name))

    def write(self, name: str, text: str) -> None:
        self._cluster.machine.run(self._command("write", name), told=text)

    def _attempt(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self._cluster.machine.attempt(self._command(*words))

    def _command(self, *words: str) -> list[str]:
        """The store is reached from the machine's network only."""
        return ["env", f"PYTHONPATH={ROOT / 'tests'}", sys.executable, "-m", "kube.storage", *words]


def own_ports() -> Mapping[str, int]:
    """Its parts find one another by sockets below /tmp that are called by their ports: other clusters have others."""
    number = secrets.randbelow(1000)
    parts = ("master.port", "volume.port", "filer.port", "s3.port.grpc", "admin.port")
    return {part: 20000 + 1000 * place + number for place, part in enumerate(parts)}


def make(_: S3Backend, bucket: str) -> None:
    make_bucket(replace(SETTINGS, bucket=bucket))


def names(backend: S3Backend, below: str) -> None:
    found: list[str] = []
    rest = ""
    while True:
        page = backend.walk(below, rest=rest)
        found += [entry.path for entry in page.entries]
        rest = page.rest
        if not rest:
            break
    sys.stdout.write(json.dumps(sorted(found)))


def read(backend: S3Backend, name: str) -> None:
    sys.stdout.write(backend.fetch(name, limit=1 << 24)[1].decode())


def write(backend: S3Backend, name: str) -> None:
    backend.put(name, sys.stdin.buffer.read())


ORDERS: Mapping[str, Callable[[S3Backend, str], None]] = {"list": names, "make": make, "read": read, "write": write}

if __name__ == "__main__":
    opened = S3Backend(SETTINGS)
    ORDERS[sys.argv[1]](opened, sys.argv[2])
    opened.close()
