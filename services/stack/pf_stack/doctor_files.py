"""Looks at the files and folders of an installation."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from shlex import quote

from pf_stack.client_config import read_entry, users_config
from pf_stack.endpoints import read_endpoints
from pf_stack.finding import Finding, bad, good, note
from pf_stack.layout import Layout
from pf_stack.setup import require_plain
from pf_stack.stack import ENTRANCE


def data_folder(layout: Layout) -> Iterator[Finding]:
    require_plain(layout.data)
    if not layout.data.exists():
        yield note(f"there is no data folder {layout.data} yet", layout.command("up"))
    elif not layout.lock.exists() and any(layout.data.iterdir()):
        yield bad(f"{layout.data} is not empty, and not a data folder of PaddleFlow", "Name another one with --data.")
    elif layout.data.stat().st_uid != os.geteuid():
        yield bad(f"{layout.data} belongs to somebody else", f"Run pf as its owner: {layout.data.owner()}")
    elif layout.restoring.exists():
        yield bad(
            f"the restore into {layout.data} was interrupted", f"rm -r {_quoted(layout.data)}   (then restore again)"
        )
    else:
        yield from _closed(layout.data, f"chmod go-rw {_quoted(layout.data)}")


def secrets(layout: Layout) -> Iterator[Finding]:
    for file in (layout.signing_key, layout.credential_key, layout.filesystem_keys, layout.client_config):
        if file.exists():
            yield from _closed(file, f"chmod 600 {_quoted(file)}")
    if layout.cluster.exists():
        yield from _lost_keys(layout)


def _lost_keys(layout: Layout) -> Iterator[Finding]:
    if not layout.signing_key.exists():
        yield bad(
            f"{layout.signing_key} is missing: no token is valid, everybody must log in again", layout.command("up")
        )
    if not layout.credential_key.exists():
        yield bad(
            f"{layout.credential_key} is missing: the credentials of clusters cannot be read",
            "Restore it from a back-up: tar -xOf BACKUP credential.key",
        )
    if not layout.filesystem_keys.exists():
        yield bad(
            f"{layout.filesystem_keys} is missing: the secrets of filesystems cannot be read",
            "Restore it from a back-up, if one has it: tar -xOf BACKUP filesystems.keys",
        )


def sockets(layout: Layout) -> Iterator[Finding]:
    folder = layout.sockets
    if folder.is_symlink() or (folder.exists() and folder.stat().st_uid != os.geteuid()):
        yield bad(
            f"{folder} is not ours: somebody else laid it there", f"rm -r {_quoted(folder)}   (as its owner or as root)"
        )
    else:
        yield good(f"Unix sockets lie in {folder}")


def client(layout: Layout) -> Iterator[Finding]:
    """Whether the command line client reaches this stack, and keeps its password to itself."""
    file = users_config()
    if file.exists():
        yield from _closed(file, f"chmod 600 {_quoted(file)}")
    if not layout.is_default:
        return
    endpoint = read_endpoints(layout).get(ENTRANCE)
    if endpoint is not None and _host(file) != endpoint.target:
        yield note(
            f"{file} names another server than this stack",
            f"export PADDLEFLOW_CONFIG={_quoted(layout.client_config)}",
        )


def _host(file: Path) -> str | None:
    """The server that a configuration names; None if there is none."""
    try:
        entry = read_entry(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return None
    return entry.host if entry is not None else None


def _quoted(path: Path) -> str:
    """As a shell wants it."""
    return quote(str(path))


def _closed(path: Path, remedy: str) -> Iterator[Finding]:
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & (stat.S_IRWXG | stat.S_IRWXO) & ~(stat.S_IXGRP | stat.S_IXOTH):
        yield bad(f"others may read or change {path} (mode {mode:04o})", remedy)
    else:
        yield good(f"{path} is closed to others")
