"""Makes a data folder what a stack needs, and puts away what a stack that was killed left behind."""

from __future__ import annotations

import secrets
import signal

from pf_kit.embedded.backends import claim_folders, vacate_backends
from pf_kit.embedded.folders import own_folder
from pf_kit.embedded.processes import Identity, end, is_alive
from pf_kit.embedded.refusal import Refusal
from pf_stack.files import write_private
from pf_stack.layout import Layout
from pf_stack.state import read_state

PASSWORD_BYTES = 18
"""Of chance, for the first password of root."""
LEFTOVERS = ((signal.SIGTERM, 10.0), (signal.SIGINT, 10.0), (signal.SIGKILL, 5.0))
"""How processes are ended that lost their supervisor. It has told them to end already, by its death."""


def claim(layout: Layout) -> None:
    """Makes the data folder, or sees that it is one and that we may use it."""
    if layout.restoring.exists():
        raise Refusal(
            f"a restore into {layout.data} was interrupted",
            f"Remove the folder and restore again: rm -r {layout.data}",
        )
    if _is_somebody_elses(layout):
        raise Refusal(
            f"{layout.data} is not empty, and not a data folder of PaddleFlow",
            "Name a folder of its own with --data; it is made if it is missing.",
        )
    claim_folders(layout.data, layout.sockets)
    layout.lock.touch(mode=0o600)
    for folder in (layout.logs, layout.keys, layout.client_config.parent):
        own_folder(folder, 0o700)


def _is_somebody_elses(layout: Layout) -> bool:
    try:
        return layout.data.is_dir() and any(layout.data.iterdir()) and not layout.lock.exists()
    except PermissionError as problem:
        raise Refusal(
            f"{problem.filename} may not be entered", "Run as its owner, or choose another data folder with --data."
        ) from problem


def make_secrets(layout: Layout) -> None:
    """Makes the installation's key, and the first password of root if there is no database yet.

    The key comes last: a start that was interrupted between the two makes both anew.
    """
    if layout.signing_key.exists():
        return
    if not layout.cluster.exists():
        write_private(layout.root_password, secrets.token_urlsafe(PASSWORD_BYTES).encode())
    # Only the first start needs it, and it would make the supervisor twice as large for good.
    from pf_kit.tokens import new_private_key  # noqa: PLC0415

    write_private(layout.signing_key, new_private_key())


def first_password(layout: Layout) -> str | None:
    """The first password of root, as long as it has not been shown."""
    return layout.root_password.read_text() if layout.root_password.exists() else None


async def end_leftovers(layout: Layout) -> bool:
    """Ends the processes of a stack whose supervisor died, the last started first. False if there were none."""
    left = leftovers(layout)
    for identity in reversed(left):
        await end(identity, LEFTOVERS)
    await vacate_backends(layout.data)
    return bool(left)


def leftovers(layout: Layout) -> list[Identity]:
    """The processes that the last supervisor started and that still run."""
    state = read_state(layout.state)
    started = [process.identity for process in state.processes] if state is not None else []
    return [identity for identity in started if identity is not None and is_alive(identity)]
