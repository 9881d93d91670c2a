"""Users, their tokens and their grants, and the rules about them that need nothing but the values."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from pf_kit.changes import ChangeKind

ROOT = "root"
"""The user that exists from the start and may do everything."""

DESCRIPTION_LENGTH = 64
USER_NAME = re.compile(r"[A-Za-z0-9]{4,16}")
RESOURCE_NAME = re.compile(r"[A-Za-z0-9_-]{1,63}")
"""What a queue or a filesystem can be called at all; their owners are stricter."""
TOKEN_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class ResourceKind(StrEnum):
    """What a grant can be for."""

    QUEUE = "queue"
    FILESYSTEM = "filesystem"


@dataclass(frozen=True, slots=True)
class User:
    """Somebody who may call."""

    name: str
    password: str = field(repr=False)
    """The hash, as `pf_queue.accounts.passwords` writes it."""
    version: int
    """Grows with every change, and over deletion and creation anew as well: no number is given out twice."""
    create_time: datetime
    update_time: datetime

    @property
    def etag(self) -> str:
        return f"{self.version:x}"

    @property
    def root(self) -> bool:
        return self.name == ROOT


@dataclass(frozen=True, slots=True, order=True)
class TokenPlace:
    """Where a token stands in a list."""

    create_time: datetime
    id: str

    def __str__(self) -> str:
        return f"{self.create_time.isoformat()} {self.id}"

    @classmethod
    def parse(cls, text: str) -> TokenPlace:
        """The place of such a string; ValueError if it is none."""
        create_time, _, token_id = text.partition(" ")
        return cls(datetime.fromisoformat(create_time), token_id)


@dataclass(frozen=True, slots=True)
class Token:
    """What is known of a token; its secret can be signed again from this."""

    id: str
    user: str
    description: str
    create_time: datetime
    expire_time: datetime
    """A whole second, because the claims of a token count in seconds."""
    revoke_time: datetime | None = None

    @property
    def place(self) -> TokenPlace:
        return TokenPlace(self.create_time, self.id)

    def good(self, now: datetime) -> bool:
        """True until the token is revoked or its time is over."""
        return self.revoke_time is None and now < self.expire_time


@dataclass(frozen=True, slots=True, order=True)
class GrantKey:
    """What makes a grant unique."""

    user: str
    kind: ResourceKind
    resource: str

    def __str__(self) -> str:
        return f"{self.user}/{self.kind}/{self.resource}"

    @classmethod
    def parse(cls, text: str) -> GrantKey:
        """The key of such a string; ValueError if it is none."""
        user, kind, resource = text.split("/")
        return cls(user, ResourceKind(kind), resource)


@dataclass(frozen=True, slots=True)
class Grant:
    """Lets one user use one resource."""

    key: GrantKey
    version: int
    create_time: datetime


@dataclass(frozen=True, slots=True)
class GrantFilter:
    """Which grants to list; None matches all."""

    user: str | None = None
    kind: ResourceKind | None = None
    resource: str | None = None

    def matches(self, key: GrantKey) -> bool:
        return self.user in (None, key.user) and self.kind in (None, key.kind) and self.resource in (None, key.resource)


@dataclass(frozen=True, slots=True)
class UserChanged:
    """Something happened to a user."""

    kind: ChangeKind
    user: User
    """The user after it; for a deletion, before it."""
    version: int


@dataclass(frozen=True, slots=True)
class GrantChanged:
    """Something happened to a grant."""

    kind: ChangeKind
    grant: Grant
    version: int


AccountEvent = UserChanged | GrantChanged


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """How long tokens last."""

    default: timedelta = timedelta(hours=24)
    """Of the token of a login."""
    maximum: timedelta = timedelta(days=365)
    """The longest that can be asked for."""


def is_user_name(name: str) -> bool:
    return USER_NAME.fullmatch(name) is not None


def is_resource_name(name: str) -> bool:
    return RESOURCE_NAME.fullmatch(name) is not None


def is_token_id(text: str) -> bool:
    return TOKEN_ID.fullmatch(text) is not None


def expiry(create_time: datetime, lifetime: timedelta) -> datetime:
    """The whole second at which a token ends, never before its lifetime is over."""
    return datetime.fromtimestamp(math.ceil((create_time + lifetime).timestamp()), UTC)
