"""What runs, as the supervisor writes it down for the other commands."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pf_kit.embedded.processes import Identity, is_alive
from pf_stack.files import write_private
from pf_stack.process import Phase, Process


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
    """What was written last, if its supervisor still lives."""
    state = read_state(file)
    return state if state is not None and is_alive(state.supervisor) else None


def _process(content: Mapping[str, Any]) -> Process:
    identity = content["identity"]
    return Process(**{**content, "phase": Phase(content["phase"]), "identity": identity and Identity(**identity)})
