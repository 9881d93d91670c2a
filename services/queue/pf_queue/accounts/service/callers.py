"""Whose things a caller may see and change."""

from __future__ import annotations

from paddleflow.problems import InvalidArgument, PermissionDenied, Violation
from pf_kit.principal import Principal, PrincipalKind


def is_own(caller: Principal, user: str) -> bool:
    return caller.kind is PrincipalKind.USER and caller.name == user


def require_own(caller: Principal, user: str) -> None:
    """Refuses whoever is neither this user nor root."""
    if not caller.root and not is_own(caller, user):
        raise PermissionDenied("only root may do this for another user")


def chosen_user(caller: Principal, user: str, path: str) -> str:
    """Whose thing a call is about: the caller's own, if the field at this path names nobody."""
    if not user:
        if caller.kind is not PrincipalKind.USER:
            raise InvalidArgument.of(Violation(path, f"must be given, because {caller.label} is no user"))
        return caller.name
    require_own(caller, user)
    return user


def listed_user(caller: Principal, user: str) -> str | None:
    """Whose things a list shows; None for everybody's."""
    if caller.root:
        return user or None
    return chosen_user(caller, user, "user")
