"""Problems with users, tokens and grants."""

from __future__ import annotations

from paddleflow.problems.base import (
    AlreadyExists,
    FailedPrecondition,
    InvalidArgument,
    NotFound,
    ResourceExhausted,
    Unauthenticated,
)


class PasswordTooWeak(InvalidArgument):
    """A password needs at least 6 characters, among them a digit and a lower-case letter."""

    reason = "PASSWORD_TOO_WEAK"


class WrongPassword(Unauthenticated):
    """The user name or the password is wrong."""

    reason = "WRONG_PASSWORD"


class UserNotFound(NotFound):
    """No user of this name."""

    reason = "USER_NOT_FOUND"


class TokenNotFound(NotFound):
    """No token of this id."""

    reason = "TOKEN_NOT_FOUND"


class GrantNotFound(NotFound):
    """No such grant."""

    reason = "GRANT_NOT_FOUND"


class UserExists(AlreadyExists):
    """A user of this name exists."""

    reason = "USER_EXISTS"


class GrantExists(AlreadyExists):
    """The grant exists."""

    reason = "GRANT_EXISTS"


class UserIsRoot(FailedPrecondition):
    """The user root may do everything, and cannot be deleted or granted anything."""

    reason = "USER_IS_ROOT"


class TooManyAttempts(ResourceExhausted):
    """Too many wrong passwords for this user; try again after the delay."""

    reason = "TOO_MANY_ATTEMPTS"
