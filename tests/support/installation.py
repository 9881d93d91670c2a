"""A whole installation of one's own, as a user gets it from `pf up`."""

from __future__ import annotations

import configparser
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from support.repository import BIN


@dataclass(frozen=True, slots=True)
class Installation:
    """Everything on this machine, in a data folder of its own."""

    data: Path
    """Below it lies all; the name is short, since paths of sockets have to be."""

    @property
    def config(self) -> Path:
        """Lets the client log in as root."""
        return self.data / "client" / "paddleflow.ini"

    @property
    def address(self) -> str:
        server = self._section("server")
        return f"{server['paddleflow_server_host']}:{server['paddleflow_server_port']}"

    @property
    def root_password(self) -> str:
        return self._section("user")["password"]

    @property
    def environment(self) -> dict[str, str]:
        """That of somebody who works with it: `paddleflow` and `pf` are on the PATH and mean this installation."""
        own = {"PF_DATA": str(self.data), "PADDLEFLOW_CONFIG": str(self.config), "HOME": str(self.data)}
        return os.environ | own | {"PATH": f"{BIN}:{os.environ['PATH']}"}

    def _section(self, name: str) -> Mapping[str, str]:
        parser = configparser.ConfigParser(interpolation=None)
        parser.read(self.config)
        return parser[name]


@contextmanager
def installation() -> Iterator[Installation]:
    made = Installation(Path(tempfile.mkdtemp(prefix="pf")))
    try:
        _pf(made, "up")
        yield made
    finally:
        _pf(made, "down")
        shutil.rmtree(made.data)


def _pf(made: Installation, verb: str) -> None:
    result = subprocess.run([BIN / "pf", verb], env=made.environment, capture_output=True, text=True, timeout=50)
    assert result.returncode == 0, result.stdout + result.stderr
