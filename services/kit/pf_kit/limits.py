"""How many calls are served at once: all together, and for each caller.

A call above the limit is refused at once, before its token is checked or its message read, so that overload costs
little and memory does not grow. gRPC's own limit is soft, so this one counts for itself.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Annotated

from paddleflow.problems import Overloaded, TooManyCalls
from pf_kit.principal import Principal, PrincipalKind
from pf_kit.setting_types import Between


@dataclass(frozen=True, slots=True)
class LimitSettings:
    """How many calls and watches are served at once."""

    calls: Annotated[int, Between(1, 100_000)] = 400
    """Calls under way at once. One core answers some 4,000 calls that read the database in a second, so that the last
    of 400 waits a tenth of a second; more would only wait longer."""
    calls_per_caller: Annotated[int, Between(1, 100_000)] = 100
    """Calls under way at once for one user, so that one user cannot take all; services of the installation are exempt.
    Callers without a token share one such limit."""
    streams: Annotated[int, Between(1, 100_000)] = 1000
    """Watches under way at once; an idle one costs some 50 kB."""
    streams_per_caller: Annotated[int, Between(1, 100_000)] = 50
    """Watches under way at once for one user."""


class Limit:
    """Counts what is under way."""

    def __init__(self, total: int, each: int) -> None:
        self._total = total
        self._each = each
        self._by_caller: dict[str, int] = {}
        self._emptied: asyncio.Event | None = None
        self.under_way = 0

    @property
    def full(self) -> bool:
        return self.under_way >= self._total

    def refuse_if_full(self) -> None:
        """Raises Overloaded; asked before anything else is done for a call."""
        if self.under_way >= self._total:
            raise Overloaded(retry_after=1.0)

    def enter(self, caller: str) -> None:
        """Counts one more for this caller; raises TooManyCalls if it has as many as it may. Each needs its `leave`."""
        count = self._by_caller.get(caller, 0)
        if count >= self._each and caller:
            raise TooManyCalls(retry_after=0.5)
        self._by_caller[caller] = count + 1
        self.under_way += 1

    def leave(self, caller: str) -> None:
        self.under_way -= 1
        count = self._by_caller[caller]
        if count == 1:
            del self._by_caller[caller]
        else:
            self._by_caller[caller] = count - 1
        if self._emptied is not None and not self.under_way:
            self._emptied.set()

    async def emptied(self) -> None:
        """Waits until nothing is under way."""
        if self.under_way:
            self._emptied = asyncio.Event()
            await self._emptied.wait()


def limited_as(principal: Principal) -> str:
    """Under which name a caller is counted; empty for services, which are not limited one by one."""
    return "" if principal.kind is PrincipalKind.SERVICE else principal.label
