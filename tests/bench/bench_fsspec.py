"""How fast Python programs read an object store without a mount, beside s3fs: `make bench-fsspec`.

Each reads first with nothing on the local disk, and then again as a new process. None asks whether what it was told of
files is still so: s3fs never does, nor does the cache of files that fsspec has.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bench.report import run
from fixtures_queue import own_service
from paddleflow.fs.v1 import fs_pb2
from pf_backends.s3.backend import S3Backend
from support.command_line import CommandLine
from support.figures import Figure
from support.fs_process import FsProcess
from support.fs_site import opened_fs_site
from support.queue_site import PASSWORD
from support.repository import ROOT
from support.s3_servers import BUCKET, KEYS, S3Server, versity
from support.servers import PostgresServer, ValkeyServer

MIB = 1 << 20
LARGE = 256 * MIB
SMALL = 100 * 1024
FILES = 500
PROGRAM = Path(__file__).parent / "engines" / "fsspec_reading.py"
INSTALL = Path(__file__).parent / "engines" / "install.sh"
UNITS = {"large": "MB/s", "random": "reads/s", "loop": "files/s", "cat": "files/s", "parquet": "rows/s"}
WORDS = {
    "large": "256 MiB from beginning to end",
    "random": "4 KiB of a large file in no order",
    "loop": "500 x 100 KiB, one after the other in no order",
    "cat": "500 x 100 KiB, together",
    "parquet": "3 of 12 columns of a Parquet file of 96 MB",
}


@dataclass(frozen=True)
class Reader:
    """One implementation, and what it is told."""

    python: Path
    protocol: str
    options: Mapping[str, Any]
    base: str
    environ: Mapping[str, str]

    def read(self) -> Mapping[str, Mapping[str, float]]:
        told = json.dumps({"protocol": self.protocol, "options": self.options, "base": self.base})
        done = subprocess.run(
            [str(self.python), str(PROGRAM)], input=told, env=os.environ | self.environ, capture_output=True, text=True
        )
        if done.returncode:
            raise RuntimeError(f"{self.protocol}: {done.stderr[-2000:]}")
        found: Mapping[str, Mapping[str, float]] = json.loads(done.stdout)
        return found


def fill(server: S3Server) -> None:
    backend = S3Backend(server.settings)
    for name in ("large", "other"):
        upload = backend.begin(f"bench/{name}")
        parts = [backend.send(upload, number + 1, os.urandom(16 * MIB)) for number in range(LARGE // (16 * MIB))]
        backend.finish(upload, parts)
    for folder in ("loop", "cat"):
        for number in range(FILES):
            backend.put(f"bench/{folder}/{number:05}", os.urandom(SMALL))
    table = pd.DataFrame({f"c{number}": np.random.default_rng(number).random(1_000_000) for number in range(12)})
    file = io.BytesIO()
    table.to_parquet(file, row_group_size=100_000)
    backend.put("bench/table.parquet", file.getvalue())
    backend.close()


@contextmanager
def site(server: S3Server, folder: Path) -> Iterator[Path]:
    """A service with the filesystem `far`; the configuration of its user."""
    postgres, valkey = PostgresServer(), ValkeyServer()
    postgres.start()
    valkey.start()
    try:
        with own_service(postgres, valkey) as queue:
            process = FsProcess(queue, real=True)
            process.start()
            try:
                yield asyncio.run(configured(process, server, folder))
            finally:
                process.remove()
    finally:
        valkey.remove()
        postgres.remove()


async def configured(process: FsProcess, server: S3Server, folder: Path) -> Path:
    async with opened_fs_site(process) as opened:
        user = await opened.add_user("reader")
        draft = fs_pb2.Filesystem(name="far", url=f"s3://{BUCKET}/bench", properties=server.properties)
        await user.call(fs_pb2.CreateFilesystemRequest(filesystem=draft))
    services = {"fs": process.address}
    return CommandLine.configured(
        folder, process.queue.address, user=user.name, password=PASSWORD, services=services
    ).config


def compared() -> list[Figure]:
    subprocess.run([str(INSTALL), "s3fs"], check=True)
    folder = Path(tempfile.mkdtemp(prefix="bench-fsspec-", dir=os.environ.get("BENCH_DISK", Path.home())))
    server = versity("--keep-alive")
    try:
        fill(server)
        with site(server, folder) as config:
            return figures(readers(server, config, folder))
    finally:
        server.stop()
        shutil.rmtree(folder)


def readers(server: S3Server, config: Path, folder: Path) -> Mapping[str, Reader]:
    endpoint = {"endpoint_url": f"http://127.0.0.1:{server.port}"}
    far = {"key": KEYS.access, "secret": KEYS.secret, "client_kwargs": endpoint}
    kept = {"target_protocol": "s3", "target_options": far, "cache_storage": str(folder / "filecache")}
    theirs, place = ROOT / ".cache" / "engines" / "s3fs" / "bin" / "python", f"{BUCKET}/bench"
    own = {"XDG_CACHE_HOME": str(folder / "cache")}
    return {
        "pf": Reader(Path(sys.executable), "pf", {"config": str(config), "dataset": True}, "far", own),
        "s3fs": Reader(theirs, "s3", far, place, {}),
        "filecache": Reader(theirs, "filecache", kept, place, {}),
    }


def figures(readers: Mapping[str, Reader]) -> list[Figure]:
    rounds = [{name: reader.read() for name, reader in readers.items()} for _ in range(2)]
    found = []
    for when, told in zip(("first", "again"), rounds, strict=True):
        for part, unit in UNITS.items():
            rates = {name: rate(each[part], part) for name, each in told.items()}
            best = max(value for name, value in rates.items() if name != "pf")
            found.append(Figure(f"{when}: {WORDS[part]}", rates["pf"], unit, best, at_least=best))
            words = ", ".join(f"{name} {value:,.0f}" for name, value in rates.items() if name != "pf")
            spent = ", ".join(f"{name} {each[part]['processor']:.2f} s" for name, each in told.items())
            sys.stderr.write(f"{when} {part}: {words}; processors: {spent}\n")
    return found


def rate(each: Mapping[str, float], part: str) -> float:
    return each["done"] / each["seconds"] / (1e6 if part == "large" else 1)


def main() -> int:
    return run("fsspec", "Python programs read an object store", {"reading": compared}, sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
