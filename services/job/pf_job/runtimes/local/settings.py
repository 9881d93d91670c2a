"""What a runner is told when it is started."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

VERSION = 2
"""Of what is written down and said; a runner of another version is replaced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerSettings:
    """How replicas run on this machine."""

    hidden: tuple[str, ...] = ()
    """Folders and files that no replica sees, beside the data folder of the runner."""
    first_uid: int = 1_700_000_000
    """As root: the first of the users that tenants' replicas run as. They should belong to nobody else."""
    uids: int = 65_536
    """How many of those there are."""
    accelerators: int | None = None
    """How many can be handed out; None counts the devices of NVIDIA that there are."""
    contained: bool = True
    """False runs replicas without namespaces even where the machine allows them."""

    def encode(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def decode(cls, text: str) -> RunnerSettings:
        found = json.loads(text)
        return cls(**{**found, "hidden": tuple(found["hidden"])})
