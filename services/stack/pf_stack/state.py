"""What runs, as the supervisor writes it down for the other commands."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pf_kit.embedded.processes import Identity, is_alive
from pf_stack.files import write_private
from pf_stack.process import Phase, Process

UNTOLD = "it is gone, and what became of it is not written down yet (is the disk full?)"


@dataclass(frozen=True, slots=True)
class State:
    """One stack."""

    supervisor: Identity
    started: float
    """Seconds since the epoch."""
    processes: tuple[Process, ...]

    @property
    def is_ready(self) -> bool:
        return all(process.phase is Phase.READY for process in self.processes)


def write_state(file: Path, state: State) -> None:
    write_private(file, json.dumps(asdict(state), indent=2).encode())


def read_state(file: Path) -> State | None:
    """What was written last, whether or not it still runs; None before the first start."""
    try:
        content = json.loads(file.read_bytes())
    except FileNotFoundError:
        return None
    return State(
        supervisor=Identity(**content["supervisor"]),
        started=content["started"],
        processes=tuple(map(_process, content["processes"])),
    )


def running_state(file: Path) -> State | None:
    """What was written last, if its supervisor still lives, without the processes that have died since.

    On a full disk the supervisor cannot write that down.
    """
    state = read_state(file)
    if state is None or not is_alive(state.supervisor):
        return None
    return replace(state, processes=tuple(map(_as_it_is, state.processes)))


def _as_it_is(process: Process) -> Process:
    if process.identity is None or is_alive(process.identity):
        return process
    return replace(process, phase=Phase.WAITING, identity=None, last_exit=UNTOLD)


def _process(content: Mapping[str, Any]) -> Process:
    identity = content["identity"]
    return Process(**{**content, "phase": Phase(content["phase"]), "identity": identity and Identity(**identity)})
