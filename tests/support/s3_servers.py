"""Object stores of two kinds, started for tests and stopped by them."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pf_backends.reach import ANYWHERE
from pf_backends.s3.calls import Ask, Caller
from pf_backends.s3.settings import Keys, S3Settings
from pf_backends.wire.messages import Endpoint
from pf_backends.wire.pool import PATIENCE, Pool
from support.go_modules import built
from support.servers import wait_until

KEYS = Keys("tester", "not-a-real-secret-of-anybody")
OTHER_KEYS = Keys("tester-2", "another-secret-of-nobody")
"""Of the same user, in SeaweedFS."""
BUCKET, PUBLIC = "tests", "public"
VERSITYGW = "github.com/versity/versitygw/cmd/versitygw@v1.8.0"


@dataclass
class S3Server:
    """A store that runs."""

    name: str
    port: int
    process: subprocess.Popen[bytes]
    folder: Path
    more: Mapping[str, object] = field(default_factory=dict)
    """What it was told beside the usual."""

    @property
    def settings(self) -> S3Settings:
        endpoint = Endpoint("127.0.0.1", self.port, tls=False)
        return S3Settings(endpoint, BUCKET, keys=KEYS, deadline=20.0, attempts=4)

    @property
    def properties(self) -> dict[str, str]:
        """Of a filesystem that lies in it."""
        return {"endpoint": f"http://127.0.0.1:{self.port}", "accessKey": KEYS.access, "secretKey": KEYS.secret}

    def answers(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def seaweed(**more: object) -> S3Server:
    """SeaweedFS, all in one process."""
    folder = Path(tempfile.mkdtemp(prefix="pf"))
    s3, filer, master, volume = free_ports(4)
    identities = [
        {
            "name": "tester",
            "credentials": [{"accessKey": keys.access, "secretKey": keys.secret} for keys in (KEYS, OTHER_KEYS)],
            "actions": ["Admin", "Read", "Write", "List", "Tagging"],
        },
        {"name": "anonymous", "actions": [f"Read:{PUBLIC}", f"List:{PUBLIC}"]},
    ]
    (folder / "s3.json").write_text(json.dumps({"identities": identities}))
    flags = {
        "dir": folder,
        "ip": "127.0.0.1",
        "ip.bind": "127.0.0.1",
        "master.port": master,
        "filer.port": filer,
        "volume.port": volume,
        "s3.port": s3,
        "s3.config": folder / "s3.json",
        "s3.port.iceberg": 0,
        "s3.port.lance": 0,
        "webdav": "false",
        "admin.ui": "false",
        **more,
    }
    program = Path(sys.executable).parent / "weed"
    command = [str(program), "mini", *(f"-{name}={value}" for name, value in flags.items())]
    return replace(started("seaweed", s3, command, folder), more=more)


def versity(*more: str, within: Path | None = None) -> S3Server:
    """versitygw over a new folder, within another. Unless told ``--keep-alive`` it hangs up after each answer."""
    binary = built("versitygw", VERSITYGW)
    folder = Path(tempfile.mkdtemp(prefix="pf", dir=within))
    for inner in ("data", "meta"):
        (folder / inner).mkdir()
    (port,) = free_ports(1)
    command = [str(binary), "--port", f"127.0.0.1:{port}", "--quiet", *more, "posix", str(folder / "data")]
    return started("versity", port, command, folder, ROOT_ACCESS_KEY=KEYS.access, ROOT_SECRET_KEY=KEYS.secret)


def started(name: str, port: int, command: Sequence[str], folder: Path, **variables: str) -> S3Server:
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=folder, env=os.environ | variables, stdout=log, stderr=log, stdin=subprocess.DEVNULL
        )
    server = S3Server(name, port, process, folder)
    try:
        wait_until(server.answers, process)
        for bucket in (BUCKET, PUBLIC):
            make_bucket(replace(server.settings, bucket=bucket))
    except BaseException:
        server.stop()
        raise
    return server


def place_in(server: S3Server, name: str) -> tuple[str, dict[str, str]]:
    """The URL and the properties of a folder that a mount is told."""
    return f"s3://{BUCKET}/{name}", server.properties


def make_bucket(settings: S3Settings) -> None:
    caller = caller_of(settings)
    caller.call(Ask("PUT", "", allowed=(409,)))
    caller.close()


def remove_bucket(settings: S3Settings) -> None:
    caller = caller_of(settings)
    caller.call(Ask("DELETE", ""))
    caller.close()


def caller_of(settings: S3Settings) -> Caller:
    """For what a backend does not do."""
    pool = Pool(settings.endpoint, reach=ANYWHERE, context=None, patience=PATIENCE, most=16)
    return Caller(settings, pool)


def free_ports(count: int) -> list[int]:
    """Ports that nobody has, each with one 10,000 above it, where SeaweedFS listens too."""
    found: list[int] = []
    while len(found) < count:
        with socket.socket() as probe, socket.socket() as above:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
            if port < 55_000 and port not in found and above.connect_ex(("127.0.0.1", port + 10_000)):
                found.append(port)
    return found
