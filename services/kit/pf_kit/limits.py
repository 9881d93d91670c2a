"""How many calls are served at once: all together, and for each caller.

A call above the limit of all is refused at once, before its token is checked, so that overload costs little and memory
does not grow; who calls too often itself is refused as soon as it is known. gRPC's own limit is soft, so this one
counts for itself.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Annotated

from paddleflow.problems import Overloaded, TooManyCalls
from pf_kit.principal import Principal, PrincipalKind
from pf_kit.setting_types import Between

OVERLOADED = 1.0
"""Seconds after which to try again when the server is full: by then it has answered all that it holds."""
TOO_MANY = 0.5
"""Seconds after which to try again when the caller itself is the reason."""


@dataclass(frozen=True, slots=True)
class LimitSettings:
    """How many calls and watches are served at once."""

    calls: Annotated[int, Between(1, 100_000)] = 400
    """Calls under way at once. One core answers some 4,000 calls that read the database in a second, so that the last
    of 400 waits a tenth of a second; more would only wait longer."""
    calls_per_caller: Annotated[int, Between(1, 100_000)] = 100
    """Calls under way at once for one user, so that one user cannot take all; services of the installation are exempt.
    Callers without a token share one such limit, and so do the replicas of a job."""
    streams: Annotated[int, Between(1, 100_000)] = 1000
    """Watches under way at once; an idle one costs some 50 kB."""
    streams_per_caller: Annotated[int, Between(1, 100_000)] = 50
    """Watches under way at once for one user."""


class Limit:
    """Counts what is under way."""

    def __init__(self, total: int, each: int) -> None:
        self._total = total
        self._each = each
        self._by_user: dict[str, int] = {}
        """What is under way for each user; under the empty name, for all callers without a token."""
        self._emptied: asyncio.Event | None = None
        self.under_way = 0

    @property
    def full(self) -> bool:
        return self.under_way >= self._total

    def enter(self) -> None:
        """Counts one more, until it will `leave`; refuses it if there are as many as there may be."""
        if self.under_way >= self._total:
            raise Overloaded(retry_after=OVERLOADED)
        self.under_way += 1

    def know(self, principal: Principal) -> None:
        """Counts what has entered for its caller, until that is to `forget`; refuses it if the caller has too many."""
        if principal.kind is not PrincipalKind.SERVICE:
            name = _payer(principal)
            count = self._by_user.get(name, 0)
            if count >= self._each:
                raise TooManyCalls(retry_after=TOO_MANY)
            self._by_user[name] = count + 1

    def forget(self, principal: Principal) -> None:
        if principal.kind is not PrincipalKind.SERVICE:
            name = _payer(principal)
            count = self._by_user[name]
            if count > 1:
                self._by_user[name] = count - 1
            else:
                del self._by_user[name]

    def leave(self) -> None:
        self.under_way -= 1
        if self._emptied is not None and not self.under_way:
            self._emptied.set()

    async def emptied(self) -> None:
        """Waits until nothing is under way."""
        if self.under_way:
            self._emptied = asyncio.Event()
            await self._emptied.wait()


def _payer(principal: Principal) -> str:
    """Whose limit it is. The name of a job may be that of a user."""
    return principal.label if principal.kind is PrincipalKind.JOB else principal.name
