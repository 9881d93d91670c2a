"""What taking and showing jobs needs from other services."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from paddleflow.problems import AlreadyExists, FailedPrecondition, InvalidArgument, NotFound, PermissionDenied
from pf_kit.principal import Principal

LASTING = (InvalidArgument, PermissionDenied, NotFound, AlreadyExists, FailedPrecondition)
"""Answers of other services that are about the job. Whatever else they say, they may say otherwise in a moment."""


@dataclass(frozen=True, slots=True)
class QueueInfo:
    """What a job must know of its queue."""

    name: str
    namespace: str
    takes: bool
    """False if it takes no jobs any more."""
    most: Mapping[str, int]
    """By resource, what its jobs together can have at most. A resource that is absent it does not have."""


class Queues(Protocol):
    """The port to queues, flavours and grants."""

    async def queue(self, caller: Principal, name: str) -> QueueInfo:
        """A queue, for a caller. Raises QueueNotFound and QueueNotGranted."""

    async def flavours(self, names: Sequence[str]) -> Mapping[str, Mapping[str, int]]:
        """Amounts by name of flavour. Raises FlavourNotFound."""

    async def granted(self, user: str) -> frozenset[str]:
        """The queues that are granted to a user."""


class Users(Protocol):
    """The port to who there is."""

    async def since(self, name: str) -> datetime:
        """When the user of this name was added. Raises UserNotFound, and Unavailable if nobody can tell."""

    async def all(self) -> Mapping[str, datetime]:
        """The names of all, and when each was added. Raises Unavailable if nobody can tell."""


class Filesystems(Protocol):
    """The port to filesystems."""

    async def ids(self, caller: Principal, names: Sequence[str]) -> Mapping[str, str]:
        """Ids of filesystems by their names, as a caller means them. Raises FilesystemNotFound."""

    async def require(self, caller: Principal, id_: str, *, write: bool) -> None:
        """Raises FilesystemNotFound or PermissionDenied, unless a caller may use a filesystem so."""
