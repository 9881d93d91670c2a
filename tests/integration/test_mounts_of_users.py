"""Filesystems that somebody mounts who is not root, by the program that is installed for that."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from paddleflow.mounted import is_mounted
from support import fuse_mounts
from support.command_line import CommandLine
from support.fs_site import FsSite
from support.ordinary import OrdinaryPython, ordinary_python
from support.queue_site import PASSWORD
from support.s3_servers import KEYS, S3Server
from support.servers import short_folder
from support.stacks import wait_until
from support.walking import below

pytestmark = [
    pytest.mark.skipif(bool(fuse_mounts.missing()), reason=fuse_mounts.missing()),
    pytest.mark.skipif(not shutil.which("fusermount3"), reason="the package fuse3 is not installed"),
    pytest.mark.timeout(180),
]


@dataclass(frozen=True)
class User:
    """Somebody who is not root, with a home."""

    runner: OrdinaryPython
    home: Path

    @property
    def place(self) -> Path:
        return self.home / "at"

    def paddleflow(self, command: str) -> str:
        """What a command that must succeed prints."""
        done = self._run("-m", "paddleflow.cli", *shlex.split(command))
        assert done.returncode == 0, done.stdout + done.stderr + self.log()
        return done.stdout

    def python(self, code: str) -> str:
        done = self._run("-c", code)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def log(self) -> str:
        return "".join(log.read_text() for log in self.home.rglob("mounts/*/log"))

    def _run(self, *words: str) -> subprocess.CompletedProcess[str]:
        own = {"HOME": str(self.home), "PADDLEFLOW_CONFIG": str(self.home / "paddleflow.ini")}
        # What is beside the real Python is not beside a copy of it.
        environment = {"PATH": f"{self.home}/bin:{os.environ['PATH']}", **own, **self.runner.environment}
        options: dict[str, Any] = {"cwd": "/", "env": environment, **self.runner.account}
        return subprocess.run(
            [self.runner.python, "-P", *words], capture_output=True, text=True, check=False, timeout=60, **options
        )


@pytest.fixture(autouse=True)
def device() -> Iterator[None]:
    """As distributions have it, and containers not always: everybody may open it, for mounts of one's own."""
    path = Path("/dev/fuse")
    before = path.stat().st_mode & 0o777
    if os.geteuid() == 0:
        path.chmod(0o666)
    yield
    if os.geteuid() == 0:
        path.chmod(before)


@pytest.fixture
def user() -> Iterator[User]:
    with ordinary_python() as runner:
        made = User(runner, short_folder())
        try:
            _furnish(made)
            yield made
        finally:
            fuse_mounts.detach_below(made.home)
            wait_until(lambda: not any(path.name == "holder" for path in below(made.home)))
            shutil.rmtree(made.home)


def _furnish(user: User) -> None:
    user.place.mkdir()
    program = user.home / "bin" / "pf-fuse"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {user.runner.python} -P -m pf_fuse "$@"\n')
    program.chmod(0o755)
    for path in (user.home, user.place):
        os.chown(path, user.runner.account.get("user", -1), user.runner.account.get("group", -1))


async def test_a_user_mounts_for_itself_alone(far_site: FsSite, seaweed_server: S3Server, user: User) -> None:
    alice = await far_site.add_user("alice")
    services = {"fs": far_site.process.address}
    CommandLine.configured(
        user.home, far_site.process.queue.address, user=alice.name, password=PASSWORD, services=services
    ).config.chmod(0o644)
    for address in (far_site.process.queue.address, *services.values()):
        _open_to_all(address)
    keys = f"-o accessKey={KEYS.access} -o secretKey={KEYS.secret}"
    endpoint = f"http://127.0.0.1:{seaweed_server.port}"
    user.paddleflow(f"fs create data s3://tests/{far_site.tag} -o endpoint={endpoint} {keys}")
    user.paddleflow(f"fs mount data {user.place}")
    file = user.place / "folder" / "file"
    user.python(f"import os; os.mkdir({str(file.parent)!r}); open({str(file)!r}, 'w').write('hello')")
    assert user.python(f"print(open({str(file)!r}).read(), end='')") == "hello"
    if os.geteuid() == 0:
        with pytest.raises(PermissionError):
            # Not even root, unless /etc/fuse.conf allows it.
            list(user.place.iterdir())
    _kill_client(user)
    assert user.python(f"print(open({str(file)!r}).read(), end='')") == "hello"
    assert "written here" in user.paddleflow(f"fs stats --once {user.place}")
    user.paddleflow(f"fs umount {user.place}")
    assert not is_mounted(user.place)
    assert user.paddleflow("fs cat data:folder/file") == "hello"


def _open_to_all(address: str) -> None:
    socket = Path(address.removeprefix("unix:"))
    if socket.exists():
        socket.chmod(0o666)
        socket.parent.chmod(0o755)


def _kill_client(user: User) -> None:
    """Whoever serves the mount; another one follows."""
    code = (
        "import os; from pathlib import Path; from paddleflow.mounted import ask;"
        f"print(ask(Path({str(user.place)!r}), os.environ, 'stats')['process']['id'])"
    )
    killed = int(user.python(code))
    os.kill(killed, signal.SIGKILL)
