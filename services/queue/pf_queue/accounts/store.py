"""Where users, tokens and grants are kept."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Protocol

from pf_kit.unit import Change, View
from pf_queue.accounts.domain import Grant, GrantFilter, GrantKey, ResourceKind, Token, TokenPlace, User

LOCK = "accounts"
"""Held by every change of users, tokens and grants. There are few of them, and one lock cannot be taken crosswise."""


class AccountStore(Protocol):
    """The port to the rows of accounts. Whoever writes holds `LOCK`.

    Names and ids come from callers: one that cannot exist is simply not found.
    """

    async def next_version(self, change: Change) -> int:
        """A number above all it gave before, for a user or a grant."""

    async def next_versions(self, change: Change, count: int) -> Sequence[int]:
        """So many such numbers, rising."""

    async def user(self, view: View, name: str) -> User | None:
        """The user of this name."""

    async def users(self, view: View, after: str, limit: int) -> Sequence[User]:
        """The users whose names come after this one, by name."""

    async def add_user(self, change: Change, user: User) -> None:
        """Keeps a new user. Raises UserExists if the name is taken."""

    async def set_user(self, change: Change, user: User) -> None:
        """Replaces what is kept of an existing user."""

    async def remove_user(self, change: Change, name: str) -> None:
        """Forgets a user, that has no grants any more, and its tokens."""

    async def token(self, view: View, token_id: str) -> Token | None:
        """The token of this id, whether it is good or not."""

    async def tokens(
        self, view: View, user: str | None, now: datetime, after: TokenPlace | None, limit: int
    ) -> Sequence[Token]:
        """Tokens that are good now, newest first; of one user, or of all."""

    async def add_token(self, change: Change, token: Token) -> None:
        """Keeps a new token of an existing user."""

    async def revoke_token(self, change: Change, token_id: str) -> None:
        """Ends a token at the time of the change; the time of one that has ended before stays."""

    async def revoke_tokens(self, change: Change, user: str) -> None:
        """Ends all tokens of a user at the time of the change."""

    async def grant(self, view: View, key: GrantKey) -> Grant | None:
        """The grant of this key."""

    async def grants(self, view: View, chosen: GrantFilter, after: GrantKey | None, limit: int) -> Sequence[Grant]:
        """Grants by user, kind and resource."""

    async def granted(self, view: View, user: str, kind: ResourceKind) -> frozenset[str]:
        """The names of all resources of this kind that are granted to the user."""

    async def add_grant(self, change: Change, grant: Grant) -> None:
        """Keeps a new grant of an existing user. Raises GrantExists if there is one of its key."""

    async def remove_grants(self, change: Change, chosen: GrantFilter) -> Sequence[Grant]:
        """Forgets grants and returns them, in order."""

    async def remove_grants_on(self, change: Change, kind: ResourceKind, names: Collection[str]) -> Sequence[Grant]:
        """Forgets all grants on these resources and returns them, in order."""
