"""What a holder is told when it is started."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from pf_fuse.kernel.features import USUAL
from pf_fuse.kernel.mounting import READ_AHEAD_KB, MountOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class HolderSettings:
    """What is mounted where, and who serves it."""

    place: str
    socket: str
    """Where clients come; a path that is not in the mount."""
    command: Sequence[str] = ()
    """What starts a client; empty if clients come by themselves. It finds the path of the socket in its environment."""
    settled: float = 2.0
    """Seconds after which a client did not die of how it was started, and is replaced at once if it dies."""
    patience: float = 10.0
    """Seconds in which a client may come that serves the mount of an earlier holder; then it is mounted anew."""
    listens: float = 10.0
    """Seconds in which whoever comes says what for."""
    user: int | None = None
    """Who may serve beside root and the user of the holder."""
    source: str = "paddleflow"
    read_only: bool = False
    others: bool = True
    over_files: bool = False
    read_ahead_kb: int = READ_AHEAD_KB
    wanted: int = int(USUAL)
    linux: str = ""
    """An older kernel, of which no more is used than it had; empty for this one."""

    def options(self) -> MountOptions:
        return MountOptions(
            source=self.source,
            read_only=self.read_only,
            others=self.others,
            over_files=self.over_files,
            read_ahead_kb=self.read_ahead_kb,
        )

    def encode(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def decode(cls, text: str) -> HolderSettings:
        return cls(**json.loads(text))

    @property
    def path(self) -> Path:
        return Path(self.place)
