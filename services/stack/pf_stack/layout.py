"""Where everything of one installation lies."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

MAX_SOCKET_PATH = 100
"""Bytes; the kernel's own limit is 107."""
LONGEST_SOCKET = "/postgres/.s.PGSQL.5432"
"""Of all names below the folder of sockets."""

PLAIN = re.compile(r"[A-Za-z0-9/._+-]*")
"""Characters that need no quoting in the address of a socket, nor in a list of addresses."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The files and folders of one data folder."""

    data: Path
    """Absolute, without links."""
    is_default: bool
    """True if this is the folder used when none is named: only then the user's own client is configured."""

    def command(self, words: str) -> str:
        """What to type to have `pf` do something with this folder."""
        return f"pf {words}" if self.is_default else f"pf {words} --data {shlex.quote(str(self.data))}"

    @property
    def sockets(self) -> Path:
        """The folder of the Unix sockets.

        It lies in the data folder, where nothing tidies it away, as long as that makes paths that are short enough and
        that mean themselves in an address.
        """
        inside = self.data / "run"
        if PLAIN.fullmatch(str(inside)) and len(f"{inside}{LONGEST_SOCKET}") <= MAX_SOCKET_PATH:
            return inside
        name = hashlib.sha256(os.fsencode(self.data)).hexdigest()[:10]
        return Path(f"/tmp/paddleflow-{os.geteuid()}-{name}")  # noqa: S108 - its owner and mode are verified

    @property
    def lock(self) -> Path:
        """Held by whoever works on the folder; its presence also marks a folder as ours."""
        return self.data / "lock"

    @property
    def state(self) -> Path:
        """What runs; written by the supervisor."""
        return self.data / "state.json"

    @property
    def endpoints(self) -> Path:
        """The addresses of the services; kept from start to start."""
        return self.data / "endpoints.json"

    @property
    def restoring(self) -> Path:
        """Is there while a back-up is being restored: until then the folder is not whole."""
        return self.data / "restoring"

    @property
    def cluster(self) -> Path:
        """The folder of Postgres."""
        return self.data / "postgres"

    @property
    def store(self) -> Path:
        """The folder of Valkey."""
        return self.data / "valkey"

    @property
    def keys(self) -> Path:
        return self.data / "keys"

    @property
    def signing_key(self) -> Path:
        """Signs the tokens of this installation."""
        return self.keys / "signing.pem"

    @property
    def credential_key(self) -> Path:
        """Encrypts what the services keep of other systems' credentials."""
        return self.keys / "credential.key"

    @property
    def filesystem_keys(self) -> Path:
        """Seal the secrets of filesystems, the newest first; one on each line."""
        return self.keys / "filesystems.keys"

    @property
    def root_password(self) -> Path:
        """The first password of root; deleted as soon as it has been shown."""
        return self.keys / "root-password"

    @property
    def client_config(self) -> Path:
        """Lets the command line client log in as root."""
        return self.data / "client" / "paddleflow.ini"

    @property
    def logs(self) -> Path:
        return self.data / "logs"

    @property
    def rounds(self) -> Path:
        """What admission was told and decided, to be replayed; the queue service keeps it small."""
        return self.data / "rounds"

    @property
    def replicas(self) -> Path:
        """What jobs of this machine are and have written; those that run outlive the stack."""
        return self.data / "replicas"

    def log(self, process: str) -> Path:
        return self.logs / f"{process}.log"

    def socket(self, service: str) -> Path:
        return self.sockets / f"{service}.sock"


def layout_of(data: Path, environ: Mapping[str, str]) -> Layout:
    """The layout of a data folder, however it was written."""
    folder = data.expanduser().resolve()
    return Layout(folder, is_default=folder == default_data(environ).resolve())


def default_data(environ: Mapping[str, str]) -> Path:
    """The data folder of this user."""
    if os.geteuid() == 0:
        return Path("/var/lib/paddleflow")
    shared = environ.get("XDG_DATA_HOME", "")
    # The XDG specification says to ignore a relative path.
    base = Path(shared) if shared.startswith("/") else Path.home() / ".local" / "share"
    return base / "paddleflow"
