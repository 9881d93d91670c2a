"""Whether a token is still good, as the rows say."""

from __future__ import annotations

from pf_kit.auth import TokenState
from pf_kit.clock import Clock
from pf_kit.unit import Database
from pf_queue.accounts.domain import ROOT
from pf_queue.accounts.store import AccountStore


class StoredTokenStatus:
    """Fulfils `TokenStatus` by looking, every time; `CachedTokenStatus` keeps its answers for a while."""

    def __init__(self, *, database: Database, store: AccountStore, clock: Clock) -> None:
        self._database = database
        self._store = store
        self._clock = clock

    async def check(self, token_id: str) -> TokenState | None:
        token = await self._store.token(self._database.newest, token_id)
        if token is None:
            return None
        return TokenState(token.good(self._clock.now()), token.user, root=token.user == ROOT)
