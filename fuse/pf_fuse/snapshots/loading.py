"""Loads the snapshot of a mount: another process reads it, so that the one that serves stays small."""

from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path

import msgspec

from pf_backends.entries import Capabilities, Entry, Page
from pf_backends.errors import failure
from pf_backends.port import Backend
from pf_fuse.settings import IndexSettings, MountSettings
from pf_fuse.snapshots.index import Index

INDEX = "snapshot"
"""Of the state of a mount: what its processes find the things of the snapshot by."""
_INSIDE = ":"
_PIECE = 8 << 20


class Snapshot:
    """Fulfils `Lister` with what was there when a snapshot was taken."""

    def __init__(self, index: Index, capabilities: Capabilities) -> None:
        self._index = index
        self.capabilities = capabilities

    def list(self, folder: str, *, rest: str = "", limit: int = 1000) -> Page:
        return self._index.page(folder, rest, limit)

    def stat(self, path: str) -> Entry:
        found = self._index.find(path)
        if found is None:
            raise failure(errno.ENOENT, path, "there was nothing when the snapshot was taken")
        return found


def load(backend: Backend, settings: MountSettings) -> None:
    """The index of the snapshot lies in the state of the mount. ValueError if it is no snapshot."""
    fetched = settings.state / "snapshot.parquet"
    source = Path(settings.snapshot)
    if settings.snapshot.startswith(_INSIDE):
        fetch(backend, settings.snapshot.removeprefix(_INSIDE), fetched)
        source = fetched
    told = IndexSettings(source, settings.state / INDEX)
    command = [sys.executable, "-m", "pf_fuse", "index"]
    done = subprocess.run(command, input=msgspec.json.encode(told, enc_hook=str), capture_output=True, check=False)
    fetched.unlink(missing_ok=True)
    if done.returncode:
        raise ValueError(f"snapshot: {done.stderr.decode(errors='replace').strip().removeprefix('pf-fuse: ')}")


def fetch(backend: Backend, path: str, target: Path) -> None:
    """A snapshot that lies in the backend is here, of one version."""
    entry = backend.stat(path)
    piece = memoryview(bytearray(_PIECE))
    done = 0
    with target.open("wb") as file:
        while done < entry.size:
            count = backend.read(path, done, piece, version=entry.version)
            if not count:
                raise failure(errno.EIO, path, f"ends at {done} of {entry.size} bytes")
            file.write(piece[:count])
            done += count
