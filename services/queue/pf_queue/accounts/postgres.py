"""Accounts in Postgres."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from paddleflow.problems import GrantExists, UserExists
from pf_kit.postgres.queries import load_queries
from pf_kit.postgres.sweep import Retention
from pf_kit.postgres.views import Row, on_constraint, rows
from pf_kit.unit import Change, View
from pf_queue.accounts.domain import Grant, GrantFilter, GrantKey, ResourceKind, Token, TokenPlace, User

RETENTIONS = (
    # Kept past its end for as long as clocks may differ, so that nobody is told of a revocation that never was.
    Retention("tokens", "expire_time", timedelta(hours=1)),
)


def storable(*texts: str | None) -> bool:
    """False if Postgres could not even be asked for one of these: it has no NUL."""
    return not any(text and "\x00" in text for text in texts)


def user_of(row: Row) -> User:
    return User(row["name"], row["password"], row["version"], row["create_time"], row["update_time"])


def token_of(row: Row) -> Token:
    return Token(
        row["id"],
        row["user_name"],
        row["description"],
        row["create_time"],
        row["expire_time"],
        row["revoke_time"],
    )


def key_of(row: Row) -> GrantKey:
    return GrantKey(row["user_name"], ResourceKind(row["kind"]), row["resource"])


def grant_of(row: Row) -> Grant:
    return Grant(key_of(row), row["version"], row["create_time"])


class PostgresAccountStore:
    """Fulfils `AccountStore` over a `PostgresDatabase`."""

    def __init__(self) -> None:
        self._sql = load_queries("pf_queue.accounts")

    async def next_version(self, change: Change) -> int:
        version: int = await rows(change).fetchval(self._sql["next_version"])
        return version

    async def next_versions(self, change: Change, count: int) -> Sequence[int]:
        found = await rows(change).fetch(self._sql["next_versions"], count)
        return sorted(row["version"] for row in found)

    async def user(self, view: View, name: str) -> User | None:
        if not storable(name):
            return None
        row = await rows(view).fetchrow(self._sql["user"], name)
        return user_of(row) if row else None

    async def users(self, view: View, after: str, limit: int) -> Sequence[User]:
        return [user_of(row) for row in await rows(view).fetch(self._sql["users"], after, limit)]

    async def add_user(self, change: Change, user: User) -> None:
        values = (user.name, user.password, user.version, user.create_time, user.update_time)
        with on_constraint(users_pkey=UserExists(f"a user {user.name!r} exists")):
            await rows(change).execute(self._sql["add_user"], *values)

    async def set_user(self, change: Change, user: User) -> None:
        values = (user.name, user.password, user.version, user.update_time)
        await rows(change).execute(self._sql["set_user"], *values)

    async def remove_user(self, change: Change, name: str) -> None:
        await rows(change).execute(self._sql["remove_user"], name)

    async def token(self, view: View, token_id: str) -> Token | None:
        if not storable(token_id):
            return None
        row = await rows(view).fetchrow(self._sql["token"], token_id)
        return token_of(row) if row else None

    async def tokens(
        self, view: View, user: str | None, now: datetime, after: TokenPlace | None, limit: int
    ) -> Sequence[Token]:
        if not storable(user):
            return []
        place = (after.create_time, after.id) if after else (None, None)
        query, whose = ("tokens", ()) if user is None else ("tokens_of_user", (user,))
        found = await rows(view).fetch(self._sql[query], now, *place, limit, *whose)
        return [token_of(row) for row in found]

    async def add_token(self, change: Change, token: Token) -> None:
        values = (token.id, token.user, token.description, token.create_time, token.expire_time)
        await rows(change).execute(self._sql["add_token"], *values)

    async def revoke_token(self, change: Change, token_id: str) -> None:
        await rows(change).execute(self._sql["revoke_token"], token_id, change.time)

    async def revoke_tokens(self, change: Change, user: str) -> None:
        await rows(change).execute(self._sql["revoke_tokens"], user, change.time)

    async def grant(self, view: View, key: GrantKey) -> Grant | None:
        if not storable(key.user, key.resource):
            return None
        row = await rows(view).fetchrow(self._sql["grant"], key.user, key.kind, key.resource)
        return grant_of(row) if row else None

    async def grants(self, view: View, chosen: GrantFilter, after: GrantKey | None, limit: int) -> Sequence[Grant]:
        if not storable(chosen.user, chosen.resource):
            return []
        place = (after.user, after.kind, after.resource) if after else (None, None, None)
        found = await rows(view).fetch(self._sql["grants"], chosen.user, chosen.kind, chosen.resource, *place, limit)
        return [grant_of(row) for row in found]

    async def granted(self, view: View, user: str, kind: ResourceKind) -> frozenset[str]:
        if not storable(user):
            return frozenset()
        return frozenset(row["resource"] for row in await rows(view).fetch(self._sql["granted"], user, kind))

    async def add_grant(self, change: Change, grant: Grant) -> None:
        key = grant.key
        with on_constraint(grants_pkey=GrantExists(f"the grant {key} exists")):
            await rows(change).execute(
                self._sql["add_grant"], key.user, key.kind, key.resource, grant.version, grant.create_time
            )

    async def remove_grants(self, change: Change, chosen: GrantFilter) -> Sequence[Grant]:
        if not storable(chosen.user, chosen.resource):
            return []
        found = await rows(change).fetch(self._sql["remove_grants"], chosen.user, chosen.kind, chosen.resource)
        return sorted((grant_of(row) for row in found), key=lambda grant: grant.key)

    async def remove_grants_on(self, change: Change, kind: ResourceKind, names: Collection[str]) -> Sequence[Grant]:
        found = await rows(change).fetch(self._sql["remove_grants_on"], kind, list(names))
        return sorted((grant_of(row) for row in found), key=lambda grant: grant.key)
