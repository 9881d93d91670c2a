"""How a published volume is."""

from __future__ import annotations

from dataclasses import dataclass

from paddleflow.mountinfo import ReadMounts
from pf_csi.node.journal import Journal
from pf_csi.node.probing import Probe, Unanswered, Usage
from pf_csi.refusals import Refusal, Why


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen at a target."""

    usage: Usage | None
    text: str

    @property
    def abnormal(self) -> bool:
        return self.usage is None


class Looking:
    """Looks at targets by the kernel's list first, and by another process then."""

    def __init__(self, journal: Journal, read: ReadMounts, probe: Probe) -> None:
        self._journal = journal
        self._read = read
        self._probe = probe

    async def at(self, volume: str, path: str) -> Seen:
        """Refusal if the volume was not published there."""
        entry = self._journal.at(path)
        if entry is None or entry.volume != volume:
            raise Refusal(Why.UNKNOWN, "this volume is not published at this path")
        if (top := self._read().top(path)) is None or not top.ours:
            return Seen(None, "the mount is gone; it is being made anew")
        try:
            return Seen(await self._probe.usage(path), "it answers")
        except Unanswered as problem:
            return Seen(None, f"the mount does not answer: {problem}")
