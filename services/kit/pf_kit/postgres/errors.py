"""Turns what asyncpg raises into what a caller can react to. Nothing else in a service sees an error of asyncpg."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import asyncpg

from paddleflow.problems import Conflict, DatabaseUnavailable, Problem
from pf_kit.start import CannotStart

_UNREACHABLE = (
    OSError,
    TimeoutError,
    asyncpg.ConnectionDoesNotExistError,
    asyncpg.ConnectionFailureError,
    asyncpg.CannotConnectNowError,
    # No room on the disk or in memory, or too many connections: reads may go on, and somebody may make room.
    asyncpg.InsufficientResourcesError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.QueryCanceledError,
    # Raised when the connection breaks while asyncpg is busy with it.
    asyncpg.InternalClientError,
    # An old primary that has become a standby.
    asyncpg.ReadOnlySQLTransactionError,
)
_LOST = (
    asyncpg.SerializationError,
    asyncpg.DeadlockDetectedError,
    asyncpg.LockNotAvailableError,
    # A migration has changed a table that a prepared statement reads; asyncpg prepares it anew the next time.
    asyncpg.InvalidCachedStatementError,
)
_REFUSED = (
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InvalidCatalogNameError,
    asyncpg.InsufficientPrivilegeError,
)
_UNSTORABLE = (
    asyncpg.CharacterNotInRepertoireError,
    asyncpg.UntranslatableCharacterError,
    asyncpg.InvalidTextRepresentationError,
    asyncpg.NumericValueOutOfRangeError,
    asyncpg.DatetimeFieldOverflowError,
)
_GONE = re.compile("clos(ed|ing)|released back to the pool")
"""How asyncpg says that a connection was lost before the call; its other interface errors are faults of the caller."""


class ConstraintViolated(Exception):
    """A row is not allowed by a constraint that nobody expected to be met here."""

    def __init__(self, constraint: str, message: str) -> None:
        super().__init__(f"{constraint}: {message}")
        self.constraint = constraint


class NotStorable(ValueError):
    """A value is none that Postgres can hold."""


@contextmanager
def translated() -> Iterator[None]:
    """Inside, errors of asyncpg become problems, violated constraints `ConstraintViolated`, what cannot be kept
    `NotStorable`.
    """
    try:
        yield
    except _LOST as error:
        raise Conflict from error
    except asyncpg.IntegrityConstraintViolationError as error:
        raise ConstraintViolated(error.constraint_name or "", str(error)) from error
    except _UNSTORABLE as error:
        raise NotStorable(str(error)) from error
    except asyncpg.DataError as error:
        # What asyncpg itself cannot hand over is of no class below.
        if type(error) is asyncpg.DataError:
            raise NotStorable(str(error)) from error
        raise
    except _UNREACHABLE as error:
        raise DatabaseUnavailable from error
    except asyncpg.InterfaceError as error:
        if not _GONE.search(str(error)):
            raise
        raise DatabaseUnavailable from error


@contextmanager
def let_in() -> Iterator[None]:
    """Inside, a Postgres that does not let the service in, or not do what it does at its start, is `CannotStart`."""
    try:
        yield
    except _REFUSED as error:
        raise CannotStart(f"Postgres refuses: {error}; correct the DSN, or give its user what it needs") from error


@contextmanager
def on_constraint(**problems: Problem) -> Iterator[None]:
    """Inside, a violated constraint raises the problem that is given under its name.

    The change cannot go on after that: Postgres has given it up.
    """
    try:
        yield
    except ConstraintViolated as error:
        if error.constraint not in problems:
            raise
        raise problems[error.constraint] from error
