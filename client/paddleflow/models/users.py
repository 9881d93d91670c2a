"""Users, their tokens, and what is granted to them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TypedDict


class ResourceKind(StrEnum):
    """What a grant can be for."""

    UNSPECIFIED = ""
    QUEUE = "queue"
    FILESYSTEM = "fs"


@dataclass(frozen=True, slots=True)
class User:
    """Somebody who may call."""

    name: str
    create_time: datetime | None = None
    update_time: datetime | None = None
    etag: str = ""


@dataclass(frozen=True, slots=True)
class Token:
    """What is known of a token; its secret is not kept by the server."""

    id: str
    user: str
    description: str
    """Empty for the token of a login."""
    create_time: datetime | None
    expire_time: datetime | None


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token just made, with the secret that is shown only now."""

    secret: str
    token: Token

    def __repr__(self) -> str:
        return f"NewToken(secret='…', token={self.token!r})"


@dataclass(frozen=True, slots=True)
class Grant:
    """Lets one user use one resource."""

    user: str
    kind: ResourceKind
    resource: str
    create_time: datetime | None = None


@dataclass(frozen=True, slots=True)
class Identity:
    """Whom a token belongs to."""

    user: str
    """Empty for a service."""
    service: str
    """Empty for a user."""
    root: bool
    expire_time: datetime | None


class GrantFilter(TypedDict, total=False):
    """Which grants to list; filters that are given must all match."""

    user: str
    kind: ResourceKind
    resource: str
