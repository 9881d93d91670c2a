"""A whole installation of one's own, as a user gets it from `pf up`."""

from __future__ import annotations

import configparser
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from support.repository import BIN


@dataclass(frozen=True, slots=True)
class Installation:
    """Everything on this machine, in a data folder of its own."""

    folder: Path
    """Its user's current folder; as root, it can be entered by the account that Postgres runs under."""

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def config(self) -> Path:
        """Lets the client log in as root."""
        return self.data / "client" / "paddleflow.ini"

    @property
    def address(self) -> str:
        """For callers that know nothing of Unix sockets."""
        return f"127.0.0.1:{json.loads((self.data / 'endpoints.json').read_bytes())['queue']['port']}"

    @property
    def root_password(self) -> str:
        parser = configparser.ConfigParser(interpolation=None)
        parser.read(self.config)
        return parser["user"]["password"]

    @property
    def environment(self) -> dict[str, str]:
        """That of somebody who works with it: `paddleflow` and `pf` are on the PATH and mean this installation."""
        own = {"PF_DATA": str(self.data), "PADDLEFLOW_CONFIG": str(self.config), "HOME": str(self.folder)}
        return os.environ | own | {"PATH": f"{BIN}:{os.environ['PATH']}"}


@contextmanager
def data_folder() -> Iterator[Installation]:
    """An installation that has not been started yet; whatever runs of it in the end is stopped."""
    made = Installation(Path(tempfile.mkdtemp(prefix="pf")))  # a short name, as paths of sockets have to be short
    made.folder.chmod(0o755)
    try:
        yield made
    finally:
        for lock in made.folder.glob("*/lock"):  # also those that were made beside it
            _pf(made, "down", "--data", str(lock.parent))
        shutil.rmtree(made.folder)


@contextmanager
def installation() -> Iterator[Installation]:
    """One that runs."""
    with data_folder() as made:
        _pf(made, "up")
        yield made


def _pf(made: Installation, *words: str) -> None:
    result = subprocess.run([BIN / "pf", *words], env=made.environment, capture_output=True, text=True, timeout=50)
    assert result.returncode == 0, result.stdout + result.stderr
