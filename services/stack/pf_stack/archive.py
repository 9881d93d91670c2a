"""The form of a back-up: one tar file, its first member a manifest with the checksum of each other member."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import tarfile
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO

from pf_kit.embedded.refusal import Refusal

FORMAT = 1
MANIFEST = "manifest.json"
MAX_MANIFEST = 1_000_000
"""Bytes; a larger one is not ours."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a back-up comes from."""

    created: str
    """ISO 8601, in UTC."""
    paddleflow: str
    """Version of the software."""
    postgres: str
    """Version of the database."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a back-up consists of."""

    origin: Origin
    checksums: Mapping[str, str]
    """SHA-256 by member."""


def write_archive(file: Path, origin: Origin, members: Mapping[str, Path]) -> int:
    """Writes a back-up of mode 0600 that is whole once it has its name; its size in bytes."""
    checksums = {name: _checksum(member) for name, member in members.items()}
    manifest = json.dumps({"format": FORMAT, "origin": asdict(origin), "checksums": checksums}, indent=2).encode()
    handle, partial = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
    try:
        with os.fdopen(handle, "wb") as output:
            _write_members(output, manifest, members)
            os.fsync(output.fileno())
        Path(partial).replace(file)
    except BaseException:
        Path(partial).unlink(missing_ok=True)
        raise
    return file.stat().st_size


def _write_members(output: BinaryIO, manifest: bytes, members: Mapping[str, Path]) -> None:
    with tarfile.open(fileobj=output, mode="w") as archive:
        archive.addfile(_entry(MANIFEST, len(manifest)), io.BytesIO(manifest))
        for name, member in members.items():
            with member.open("rb") as source:
                archive.addfile(_entry(name, member.stat().st_size), source)


def _entry(name: str, size: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode, entry.mtime = size, 0o600, int(time.time())
    return entry


def extract_archive(file: Path, folder: Path) -> Manifest:
    """Unpacks a back-up into a folder of ours. Raises Refusal unless every byte is as it was written."""
    try:
        with tarfile.open(file, "r:") as archive:
            manifest = _read_manifest(archive)
            for name, checksum in manifest.checksums.items():
                _extract(archive, name, checksum, folder)
    except (tarfile.TarError, LookupError, TypeError, ValueError, OSError) as problem:
        raise Refusal(f"{file} is not a whole back-up of PaddleFlow: {problem}", "Use another back-up.") from problem
    return manifest


def _read_manifest(archive: tarfile.TarFile) -> Manifest:
    entry = archive.next()
    source = archive.extractfile(entry) if entry is not None and entry.name == MANIFEST else None
    if source is None:
        raise ValueError("it does not begin with a manifest")
    content = json.loads(source.read(MAX_MANIFEST))
    if content["format"] != FORMAT:
        raise ValueError(f"its format {content['format']} is not known to this version of the software")
    return Manifest(Origin(**content["origin"]), content["checksums"])


def _extract(archive: tarfile.TarFile, name: str, checksum: str, folder: Path) -> None:
    source = archive.extractfile(archive.getmember(name))
    # A name with folders in it would lead out of ours.
    if source is None or Path(name).name != name:
        raise ValueError(f"{name} is not a file")
    with (folder / name).open("xb") as target:
        shutil.copyfileobj(source, target)
    if _checksum(folder / name) != checksum:
        raise ValueError(f"the checksum of {name} is wrong")


def _checksum(file: Path) -> str:
    with file.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()
