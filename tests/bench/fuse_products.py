"""The mounts that are compared, each begun and ended as its users do it."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import psutil

from bench import fuse_data
from bench.fuse_work import settle_disk
from paddleflow.mounting import MountOptions, run_errand
from support.mounts import Mount
from support.s3_servers import BUCKET, KEYS, S3Server
from support.servers import ValkeyServer

ENGINES = Path(__file__).parents[2] / ".cache" / "engines"
TICK = os.sysconf("SC_CLK_TCK")
PATIENCE = 60.0
FOLDER = "bed"
"""Of the bucket, where the data are."""

Command: TypeAlias = tuple[Sequence[str | Path], Mapping[str, str]]
"""What mounts, and what is in its environment beside the usual."""


@dataclass
class Product(ABC):
    """Something that mounts a bucket."""

    server: S3Server
    room: Path
    """A folder of its own, on a disk."""
    processes: list[int] = field(default_factory=list, init=False)
    caches: int = field(default=0, init=False)

    title = ""
    plain = True
    """A file is an object of the same name."""

    def __post_init__(self) -> None:
        self.place.mkdir()
        self.cache.mkdir()

    @property
    def place(self) -> Path:
        return self.room / "mounted"

    @property
    def cache(self) -> Path:
        return self.room / f"cache-{self.caches}"

    @abstractmethod
    def begin(self) -> None:
        """Mounts, with what is in the cache."""

    def end(self) -> None:
        """Unmounts; what was written is stored."""
        command = ["umount", str(self.place)]
        until = time.monotonic() + PATIENCE
        while os.path.ismount(self.place) and time.monotonic() < until:
            subprocess.run(command, check=False, capture_output=True)
            time.sleep(0.2)
        while any(map(_lives, self.processes)) and time.monotonic() < until:
            time.sleep(0.05)

    def anew(self) -> None:
        """Mounted, with nothing in the cache.

        The cache before stays: for minutes ext4 looks at each file that was removed when it makes a new one.
        """
        self.end()
        self.caches += 1
        self.cache.mkdir()
        self.begin()

    def used(self) -> float:
        """Seconds of processors that its processes have used."""
        return sum(map(_used, self.processes))

    def memory(self) -> float:
        """MiB that its processes hold."""
        return sum(map(_resident, self.processes))

    def forget(self) -> None:
        """Nothing of any file is in memory, but what the store will be asked for: it is the mount that is measured."""
        settle_disk(forget=True)
        for path in sorted(self.server.folder.rglob("*")):
            for name in os.listxattr(path):
                os.getxattr(path, name)
            if path.is_file():
                path.read_bytes()
        # That took the memory which was at hand.
        settle_disk()

    def settle(self) -> None:
        """Waits until it does nothing more."""
        before, until = -1.0, time.monotonic() + PATIENCE
        while (now := self.used()) - before > 0.02 and time.monotonic() < until:
            before = now
            time.sleep(0.5)


@dataclass
class Ours(Product):
    """This project's."""

    more: Mapping[str, object] = field(default_factory=dict)
    dataset: bool = False
    snapshot: str = ""
    """A table of what there is, which is not looked for then."""
    title = "paddleflow"

    @property
    def url(self) -> str:
        return f"s3://{BUCKET}/{FOLDER}"

    @property
    def mount(self) -> Mount:
        return Mount(self.place, self.room / "home")

    def begin(self) -> None:
        options = MountOptions(dataset=self.dataset, snapshot=self.snapshot, cache_folders=[self.cache], more=self.more)
        self.mount.begin(self.url, self.server.properties, options)
        self._know()

    def take_snapshot(self) -> None:
        """Of what there is now; it is what is mounted from then on."""
        self.snapshot = str(self.room / "snapshot.parquet")
        source = {"url": self.url, "properties": self.server.properties, "cache": {"folders": []}}
        *_, _ = run_errand("snapshot", {"source": source, "to": self.snapshot})

    def _know(self) -> None:
        server = self.mount.server()
        self.processes = [server, _parent(server)]

    def used(self) -> float:
        """With the processes that fetch for it."""
        return super().used() + sum(map(_used, self.porters()))

    def memory(self) -> float:
        return super().memory() + sum(map(_resident, self.porters()))

    def porters(self) -> list[int]:
        return [each["id"] for each in self.mount.stats()["porters"]] if self.processes else []

    def end(self) -> None:
        if os.path.ismount(self.place):
            self.mount.end()


@dataclass
class Peer(Product):
    """Another product: one process in the foreground."""

    @abstractmethod
    def command(self) -> Command:
        """How it is begun."""

    def begin(self) -> None:
        words, variables = self.command()
        with (self.room / "log").open("ab") as log:
            process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**os.environ, **variables}, cwd=self.room
            )
        until = time.monotonic() + PATIENCE
        while not os.path.ismount(self.place):
            assert process.poll() is None, (self.room / "log").read_text()[-2000:]
            assert time.monotonic() < until, f"{self.title}: not mounted in {PATIENCE} s"
            time.sleep(0.05)
        children = psutil.Process(process.pid).children(recursive=True)
        self.processes = [process.pid, *(child.pid for child in children)]

    def end(self) -> None:
        super().end()
        for process in self.processes:
            if _lives(process):
                os.kill(process, signal.SIGKILL)
            _reap(process)


@dataclass
class JuiceFs(Peer):
    """JuiceFS with its metadata in a Valkey; it keeps files in blocks of its own."""

    valkey: ValkeyServer = field(default_factory=ValkeyServer)
    title = "JuiceFS"
    plain = False
    program = ENGINES / "juicefs/bin/juicefs"

    @property
    def meta(self) -> str:
        return f"{self.valkey.url}?db=1"

    def prepare(self) -> None:
        """Writes the data once, through a mount."""
        self.valkey.start()
        bucket = f"http://127.0.0.1:{self.server.port}/{BUCKET}"
        words: list[str | Path] = [self.program, "format", "--storage", "s3", "--bucket", bucket, "--trash-days", "0"]
        variables = os.environ | {"ACCESS_KEY": KEYS.access, "SECRET_KEY": KEYS.secret}
        subprocess.run([*words, self.meta, "jfs"], check=True, capture_output=True, env=variables)
        self.begin()
        fuse_data.fill(self.place)
        self.end()

    def command(self) -> Command:
        words: list[str | Path] = ["mount", "--no-usage-report", "--cache-dir", self.cache, "--cache-size", "40960"]
        return [self.program, *words, self.meta, self.place], {}


@dataclass
class Rclone(Peer):
    title = "rclone"

    def command(self) -> Command:
        endpoint = f"http://127.0.0.1:{self.server.port}"
        remote = f':s3,provider=Other,env_auth=true,endpoint="{endpoint}",force_path_style=true'
        words: list[str | Path] = ["mount", "--config", "/dev/null", "--vfs-cache-mode", "full"]
        # Without these it asks for each file once more, and reads large ones over one connection.
        words += ["--use-server-modtime", "--vfs-fast-fingerprint", "--vfs-read-chunk-streams", "4"]
        words += ["--vfs-read-chunk-size", "8M", "--cache-dir", self.cache, f"{remote}:{BUCKET}/{FOLDER}", self.place]
        variables = {"AWS_ACCESS_KEY_ID": KEYS.access, "AWS_SECRET_ACCESS_KEY": KEYS.secret}
        return [ENGINES / "rclone/bin/rclone", *words], variables


@dataclass
class S3Fs(Peer):
    title = "s3fs"

    def command(self) -> Command:
        secret = self.room / "secret"
        secret.write_text(f"{KEYS.access}:{KEYS.secret}\n")
        secret.chmod(0o600)
        options = f"url=http://127.0.0.1:{self.server.port},use_path_request_style,passwd_file={secret}"
        options += f",use_cache={self.cache},parallel_count=8,multireq_max=20,enable_noobj_cache"
        words: list[str | Path] = ["s3fs", f"{BUCKET}:/{FOLDER}", self.place, "-f", "-o", options]
        return words, {}


@dataclass
class Shown(Peer):
    """The folder where the store keeps all of it, shown by the example of libfuse, which is C: it fetches nothing.

    With one thread, and what the kernel reads ahead unless it is told otherwise. It holds a descriptor of each file.
    """

    title = "passthrough_ll"

    def command(self) -> Command:
        resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
        source = f"source={stored_in(self.server)}"
        return [ENGINES / "libfuse/passthrough_ll", "-f", "-s", "-o", source, self.place], {}


@contextmanager
def mounted(product: Product) -> Iterator[Product]:
    """Begun with nothing in its cache; ended and its room empty afterwards, whatever happens."""
    try:
        product.begin()
        yield product
    finally:
        product.end()


def stored_in(server: S3Server) -> Path:
    """Where the store keeps what is mounted, on the local disk."""
    return server.folder / "data" / BUCKET / FOLDER


def _stat(process: int) -> Sequence[str]:
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()


def _used(process: int) -> float:
    try:
        return sum(map(int, _stat(process)[11:15])) / TICK
    except FileNotFoundError:
        return 0.0


def _resident(process: int) -> float:
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / (1 << 20)
    except FileNotFoundError:
        return 0.0


def _lives(process: int) -> bool:
    try:
        return _stat(process)[0] != "Z"
    except FileNotFoundError:
        return False


def _parent(process: int) -> int:
    return int(_stat(process)[1])


def _reap(process: int) -> None:
    try:
        os.waitpid(process, 0)
    except ChildProcessError:
        return
