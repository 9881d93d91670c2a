"""Accounts in memory, for tests: as durable as the process, and every list is sorted anew."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime

from paddleflow.problems import GrantExists, UserExists
from pf_kit.memory import tables
from pf_kit.unit import Change, View
from pf_queue.accounts.domain import Grant, GrantFilter, GrantKey, ResourceKind, Token, TokenPlace, User


def users_of(view: View) -> dict[str, User]:
    return tables(view).table("users")


def tokens_of(view: View) -> dict[str, Token]:
    return tables(view).table("tokens")


def grants_of(view: View) -> dict[GrantKey, Grant]:
    return tables(view).table("grants")


class MemoryAccountStore:
    """Fulfils `AccountStore` over a `MemoryDatabase`."""

    async def next_version(self, change: Change) -> int:
        return (await self.next_versions(change, 1))[0]

    async def next_versions(self, change: Change, count: int) -> Sequence[int]:
        numbers: dict[str, int] = tables(change).table("numbers")
        last = numbers.get("account", 0)
        numbers["account"] = last + count
        return range(last + 1, last + count + 1)

    async def user(self, view: View, name: str) -> User | None:
        return users_of(view).get(name)

    async def users(self, view: View, after: str, limit: int) -> Sequence[User]:
        users = users_of(view)
        return [users[name] for name in sorted(users) if name > after][:limit]

    async def add_user(self, change: Change, user: User) -> None:
        if user.name in users_of(change):
            raise UserExists(f"a user {user.name!r} exists")
        users_of(change)[user.name] = user

    async def set_user(self, change: Change, user: User) -> None:
        users_of(change)[user.name] = user

    async def remove_user(self, change: Change, name: str) -> None:
        tokens = tokens_of(change)
        for token in [token for token in tokens.values() if token.user == name]:
            del tokens[token.id]
        users_of(change).pop(name, None)

    async def token(self, view: View, token_id: str) -> Token | None:
        return tokens_of(view).get(token_id)

    async def tokens(
        self, view: View, user: str | None, now: datetime, after: TokenPlace | None, limit: int
    ) -> Sequence[Token]:
        found = [token for token in tokens_of(view).values() if user in (None, token.user) and token.good(now)]
        found.sort(key=lambda token: token.place, reverse=True)
        return [token for token in found if after is None or token.place < after][:limit]

    async def add_token(self, change: Change, token: Token) -> None:
        tokens_of(change)[token.id] = token

    async def revoke_token(self, change: Change, token_id: str) -> None:
        tokens = tokens_of(change)
        if (token := tokens.get(token_id)) is not None and token.revoke_time is None:
            tokens[token_id] = replace(token, revoke_time=change.time)

    async def revoke_tokens(self, change: Change, user: str) -> None:
        for token in list(tokens_of(change).values()):
            if token.user == user:
                await self.revoke_token(change, token.id)

    async def grant(self, view: View, key: GrantKey) -> Grant | None:
        return grants_of(view).get(key)

    async def grants(self, view: View, chosen: GrantFilter, after: GrantKey | None, limit: int) -> Sequence[Grant]:
        found = sorted(key for key in grants_of(view) if chosen.matches(key) and (after is None or key > after))
        return [grants_of(view)[key] for key in found[:limit]]

    async def granted(self, view: View, user: str, kind: ResourceKind) -> frozenset[str]:
        return frozenset(key.resource for key in grants_of(view) if GrantFilter(user, kind).matches(key))

    async def add_grant(self, change: Change, grant: Grant) -> None:
        if grant.key in grants_of(change):
            raise GrantExists(f"the grant {grant.key} exists")
        grants_of(change)[grant.key] = grant

    async def remove_grants(self, change: Change, chosen: GrantFilter) -> Sequence[Grant]:
        grants = grants_of(change)
        return [grants.pop(key) for key in sorted(grants) if chosen.matches(key)]

    async def remove_grants_on(self, change: Change, kind: ResourceKind, names: Collection[str]) -> Sequence[Grant]:
        grants = grants_of(change)
        return [grants.pop(key) for key in sorted(grants) if key.kind is kind and key.resource in names]
