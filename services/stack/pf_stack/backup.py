"""Backs up a running stack."""

from __future__ import annotations

import importlib.metadata
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from pf_kit.embedded.backends import embedded_postgres
from pf_kit.embedded.child import clean_environment
from pf_kit.embedded.postgres import Postgres
from pf_kit.embedded.refusal import Refusal
from pf_stack.archive import Origin, write_archive
from pf_stack.layout import Layout
from pf_stack.state import running_state

DATABASE = "database.dump"
"""What pg_dump wrote: all services' data as they were at one moment."""


def kept_files(layout: Layout) -> Mapping[str, Path]:
    """What else cannot be made anew, by its name in a back-up."""
    files = (layout.signing_key, layout.credential_key, layout.filesystem_keys, layout.client_config)
    return {file.name: file for file in files}


def back_up(layout: Layout, file: Path, written: Callable[[int], None]) -> int:
    """Writes a back-up of all that cannot be made anew; its size. Tells the bytes that the database took so far.

    Valkey is left out: it only holds hints, and forgets them at any time.
    """
    if running_state(layout.state) is None:
        raise Refusal(f"the stack of {layout.data} does not run", layout.command("up"))
    if file.exists():
        raise Refusal(f"{file} is there already", "Name another file, or remove it first.")
    postgres = embedded_postgres(layout.data, layout.sockets)
    with _workshop(file) as folder:
        dump = Path(folder) / DATABASE
        _dump(layout, postgres, dump, written)
        kept = {name: path for name, path in kept_files(layout).items() if path.exists()}
        return write_archive(file, _origin(postgres), {DATABASE: dump, **kept})


def _workshop(file: Path) -> tempfile.TemporaryDirectory[str]:
    """A folder on the same disk as the file; ours alone."""
    try:
        return tempfile.TemporaryDirectory(prefix=f".{file.name}.", dir=file.parent)
    except OSError as problem:
        raise Refusal(
            f"nothing can be written to {file.parent}: {problem.strerror}", "Name a file elsewhere."
        ) from problem


def _dump(layout: Layout, postgres: Postgres, dump: Path, written: Callable[[int], None]) -> None:
    program = [
        str(postgres.binaries.folder / "pg_dump"),
        "--format=custom",
        "--no-owner",
        "--file",
        str(dump),
        postgres.dsn,
    ]
    # A file, as nobody may read a pipe in time: what is full of complaints stops.
    with (
        tempfile.TemporaryFile() as complaints,
        subprocess.Popen(program, stderr=complaints, env=clean_environment()) as process,
    ):
        try:
            while process.poll() is None:
                written(dump.stat().st_size if dump.exists() else 0)
                time.sleep(0.1)
        finally:
            process.kill()
        complaints.seek(0)
        complaint = complaints.read().decode(errors="replace").strip()
    if process.returncode != 0:
        raise Refusal(f"pg_dump failed: {complaint}", f"See how Postgres is: {layout.command('status')}")


def _origin(postgres: Postgres) -> Origin:
    return Origin(
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        paddleflow=importlib.metadata.version("paddleflow-server"),
        postgres=postgres.binaries.version,
    )
