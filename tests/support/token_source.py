"""Who says which tokens are good, set by hand."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from paddleflow.problems import Problem
from pf_kit.auth import TokenState


@dataclass
class Source:
    """A token status that is set by hand, and counts how often it is asked."""

    state: TokenState | None = field(default_factory=lambda: TokenState(good=True, user="alice", root=False))
    problem: Problem | None = None
    asked: int = 0
    gate: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.gate.set()

    def recent(self, token_id: str) -> TokenState | None:
        return None if self.problem else self.state

    async def check(self, token_id: str) -> TokenState | None:
        self.asked += 1
        state, problem = self.state, self.problem
        await self.gate.wait()
        if problem:
            raise problem
        return state
