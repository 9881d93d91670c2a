"""Makes a data folder what a stack needs, and puts away what a stack that was killed left behind."""

from __future__ import annotations

import logging
import os
import secrets
import signal
from base64 import b64encode
from pathlib import Path
from shlex import quote

from pf_kit.embedded.backends import BACKENDS, claim_folders, vacate_backends
from pf_kit.embedded.folders import own_folder
from pf_kit.embedded.processes import Identity, end, is_alive
from pf_kit.embedded.refusal import Refusal
from pf_stack.files import write_private
from pf_stack.layout import Layout
from pf_stack.state import read_state

logger = logging.getLogger(__name__)

PLAIN_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
"""Without those that look alike."""
CREDENTIAL_KEY_BYTES = 32
UNQUOTED = '"$`\\'
"""Letters that mean something to a shell even between double quotes, which initdb puts around paths."""
LONGEST_PATH = 800
"""Bytes of a data folder's path. Postgres knows no path longer than 1023, and it has files far below."""
LEFTOVERS = ((signal.SIGTERM, 10.0), (signal.SIGKILL, 5.0))
"""How services are ended that lost their supervisor. It has told them to end already, by its death."""


def claim(layout: Layout) -> None:
    """Makes the data folder, or sees that it is one and that we may use it."""
    require_plain(layout.data)
    if layout.restoring.exists():
        raise Refusal(
            f"a restore into {layout.data} was interrupted",
            f"Remove the folder and restore again: rm -r {quote(str(layout.data))}",
        )
    if _is_somebody_elses(layout):
        raise Refusal(
            f"{layout.data} is not empty, and not a data folder of PaddleFlow",
            "Name a folder of its own with --data; it is made if it is missing.",
        )
    claim_folders(layout.data, layout.sockets)
    layout.lock.touch(mode=0o600)
    for folder in (layout.logs, layout.rounds, layout.keys, layout.client_config.parent):
        own_folder(folder, 0o700)


def require_plain(data: Path) -> None:
    """Refuses a path that Postgres cannot work with: its tools hand it to a shell, and cut it off when it is long."""
    odd = sorted({letter for letter in str(data) if letter in UNQUOTED or not letter.isprintable()})
    if odd:
        raise Refusal(
            f"the path of the data folder holds what Postgres cannot work with: {', '.join(map(ascii, odd))}",
            "Name another folder with --data.",
        )
    if len(os.fsencode(data)) > LONGEST_PATH:
        raise Refusal(
            f"the path of the data folder is longer than {LONGEST_PATH} bytes: {data}",
            "Name another folder with --data.",
        )


def _is_somebody_elses(layout: Layout) -> bool:
    try:
        return layout.data.is_dir() and any(layout.data.iterdir()) and not layout.lock.exists()
    except PermissionError as problem:
        raise Refusal(
            f"{problem.filename} may not be entered", "Run as its owner, or choose another data folder with --data."
        ) from problem


def make_secrets(layout: Layout) -> None:
    """Makes the installation's keys, and the first password of root, as far as they are missing."""
    if not layout.cluster.exists():
        write_private(layout.root_password, new_password().encode())
    for key in (layout.credential_key, layout.filesystem_keys):
        if not key.exists():
            write_private(key, b64encode(secrets.token_bytes(CREDENTIAL_KEY_BYTES)))
    if not layout.signing_key.exists():
        # Only the first start needs it, and it would make the supervisor twice as large for good.
        from pf_kit.tokens import new_private_key  # noqa: PLC0415

        write_private(layout.signing_key, new_private_key())


def new_password() -> str:
    """A password of 99 bits of chance, easy to type, with the letter and the digit that any password must have."""
    while True:
        parts = ["".join(secrets.choice(PLAIN_LETTERS) for _ in range(5)) for _ in range(4)]
        password = "-".join(parts)
        if any(map(str.isdigit, password)) and any(map(str.isalpha, password)):
            return password


def first_password(layout: Layout) -> str | None:
    """The first password of root, as long as it has not been shown."""
    return layout.root_password.read_text() if layout.root_password.exists() else None


async def end_leftovers(layout: Layout) -> bool:
    """Ends the processes of a stack whose supervisor died, the services first. False if there were none."""
    left = leftovers(layout)
    for name, identity in left.items():
        logger.warning("a process without a supervisor is ended", extra={"component": name, "pid": identity.pid})
        if name not in BACKENDS:
            await end(identity, LEFTOVERS)
    await vacate_backends(layout.data)
    return bool(left)


def leftovers(layout: Layout) -> dict[str, Identity]:
    """The processes that the last supervisor started and that still run, by name."""
    state = read_state(layout.state)
    started = {process.name: process.identity for process in state.processes} if state is not None else {}
    return {name: identity for name, identity in started.items() if identity is not None and is_alive(identity)}
