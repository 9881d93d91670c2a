"""The root of the tree, and one class for each way a caller should react."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar


class Code(StrEnum):
    """How a caller should react; the names are those of gRPC's status codes."""

    INVALID_ARGUMENT = "INVALID_ARGUMENT"
    UNAUTHENTICATED = "UNAUTHENTICATED"
    PERMISSION_DENIED = "PERMISSION_DENIED"
    NOT_FOUND = "NOT_FOUND"
    ALREADY_EXISTS = "ALREADY_EXISTS"
    FAILED_PRECONDITION = "FAILED_PRECONDITION"
    ABORTED = "ABORTED"
    OUT_OF_RANGE = "OUT_OF_RANGE"
    RESOURCE_EXHAUSTED = "RESOURCE_EXHAUSTED"
    UNAVAILABLE = "UNAVAILABLE"
    DEADLINE_EXCEEDED = "DEADLINE_EXCEEDED"
    INTERNAL = "INTERNAL"


@dataclass(frozen=True, slots=True)
class Violation:
    """One field that holds what it must not."""

    field: str
    """The path in the request, for example ``queue.min.amounts.cpu``."""
    description: str


class Problem(Exception):
    """Something went wrong."""

    code: ClassVar[Code] = Code.INTERNAL
    reason: ClassVar[str] = "INTERNAL"

    def __init__(
        self,
        message: str = "",
        *,
        violations: tuple[Violation, ...] = (),
        retry_after: float | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        self.message = message or (type(self).__doc__ or "").splitlines()[0]
        self.violations = violations
        self.retry_after = retry_after
        """Seconds after which a retry has a chance; None if the server did not say."""
        self.metadata = dict(metadata or {})
        super().__init__(self.message)


class InvalidArgument(Problem):
    """A field holds what it must not."""

    code = Code.INVALID_ARGUMENT
    reason = "INVALID_ARGUMENT"

    @classmethod
    def of(cls, *violations: Violation) -> InvalidArgument:
        """The problem of these fields, its message naming each."""
        return cls("; ".join(f"{v.field}: {v.description}" for v in violations), violations=violations)


class Unauthenticated(Problem):
    """The caller is not known."""

    code = Code.UNAUTHENTICATED
    reason = "TOKEN_INVALID"


class PermissionDenied(Problem):
    """The caller may not do this."""

    code = Code.PERMISSION_DENIED
    reason = "PERMISSION_DENIED"


class NotFound(Problem):
    """The thing does not exist."""

    code = Code.NOT_FOUND
    reason = "NOT_FOUND"


class AlreadyExists(Problem):
    """A thing of this name exists already."""

    code = Code.ALREADY_EXISTS
    reason = "ALREADY_EXISTS"


class FailedPrecondition(Problem):
    """The thing is not in a state that allows this."""

    code = Code.FAILED_PRECONDITION
    reason = "FAILED_PRECONDITION"


class Aborted(Problem):
    """The call lost against another one; a retry may succeed."""

    code = Code.ABORTED
    reason = "CONFLICT"


class OutOfRange(Problem):
    """What was asked for lies outside of what is kept."""

    code = Code.OUT_OF_RANGE
    reason = "RESUME_TOKEN_EXPIRED"


class ResourceExhausted(Problem):
    """There is too much to do; try again later."""

    code = Code.RESOURCE_EXHAUSTED
    reason = "OVERLOADED"


class Unavailable(Problem):
    """The service cannot answer right now; try again."""

    code = Code.UNAVAILABLE
    reason = "DATABASE_UNAVAILABLE"


class DeadlineExceeded(Problem):
    """The call took longer than it may."""

    code = Code.DEADLINE_EXCEEDED
    reason = "DEADLINE_EXCEEDED"


class Internal(Problem):
    """The server has a fault."""


def tree(root: type[Problem] = Problem) -> Iterator[type[Problem]]:
    """The class and all below it, each before its children; without those that a program derives for itself."""
    yield root
    for child in root.__subclasses__():
        if child.__module__.startswith(__package__):
            yield from tree(child)
