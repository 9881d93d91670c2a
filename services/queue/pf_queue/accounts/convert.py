"""Between messages and the values of the domain."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from google.protobuf.duration_pb2 import Duration

from paddleflow.auth.v1 import auth_pb2
from paddleflow.common.v1 import event_pb2
from paddleflow.problems import InvalidArgument, Violation
from pf_kit.events import Fact
from pf_kit.fields import require
from pf_kit.principal import Principal, PrincipalKind
from pf_kit.tokens import Claims
from pf_kit.wire import CHANGE_KINDS, timestamp
from pf_queue.accounts.domain import (
    AccountEvent,
    Grant,
    GrantChanged,
    GrantFilter,
    GrantKey,
    ResourceKind,
    Token,
    User,
    UserChanged,
)

USER_EVENT = auth_pb2.UserEvent.DESCRIPTOR.full_name
GRANT_EVENT = auth_pb2.GrantEvent.DESCRIPTOR.full_name
KIND_VALUES = {
    ResourceKind.QUEUE: auth_pb2.RESOURCE_KIND_QUEUE,
    ResourceKind.FILESYSTEM: auth_pb2.RESOURCE_KIND_FILESYSTEM,
}
KINDS = {value: kind for kind, value in KIND_VALUES.items()}
LONGEST_DURATION = 315_576_000_000
"""Seconds, either way, that a Duration may hold by its definition."""


def lifetime_of(request: auth_pb2.CreateTokenRequest) -> timedelta | None:
    """What the field `lifetime` asks for; None if it is not set."""
    if not request.HasField("lifetime"):
        return None
    asked: Duration = request.lifetime
    if abs(asked.seconds) > LONGEST_DURATION or abs(asked.nanos) >= 10**9:
        raise InvalidArgument.of(Violation("lifetime", "is no duration"))
    return timedelta(seconds=asked.seconds, microseconds=asked.nanos / 1000)


def user_message(user: User) -> auth_pb2.User:
    return auth_pb2.User(
        name=user.name,
        create_time=timestamp(user.create_time),
        update_time=timestamp(user.update_time),
        etag=user.etag,
    )


def token_message(token: Token) -> auth_pb2.Token:
    return auth_pb2.Token(
        id=token.id,
        user=token.user,
        description=token.description,
        create_time=timestamp(token.create_time),
        expire_time=timestamp(token.expire_time),
    )


def existing_user(user: User) -> auth_pb2.UserEvent:
    """Tells a watcher of a user that is there as the watch begins."""
    return auth_pb2.UserEvent(kind=event_pb2.CHANGE_KIND_EXISTING, user=user_message(user))


def existing_grant(grant: Grant) -> auth_pb2.GrantEvent:
    """Tells a watcher of a grant that is there as the watch begins."""
    return auth_pb2.GrantEvent(kind=event_pb2.CHANGE_KIND_EXISTING, grant=grant_message(grant))


def claims_of(token: auth_pb2.Token, issuer: str) -> Claims:
    """What the token's secret says: nothing but what is kept of it, so that it can be signed again."""
    return Claims(issuer, f"user/{token.user}", token.id, token.create_time.seconds, token.expire_time.seconds)


def grant_message(grant: Grant) -> auth_pb2.Grant:
    return auth_pb2.Grant(
        user=grant.key.user,
        kind=KIND_VALUES[grant.key.kind],
        resource=grant.key.resource,
        create_time=timestamp(grant.create_time),
    )


def given(path: str, value: str | int) -> Iterator[Violation]:
    """A field that must not be left out."""
    if not value:
        yield Violation(path, "must be given")


def known_kind(path: str, kind: auth_pb2.ResourceKind.ValueType) -> Iterator[Violation]:
    """A kind of resource; none at all is left to `given`."""
    if kind not in (auth_pb2.RESOURCE_KIND_UNSPECIFIED, *KINDS):
        yield Violation(path, f"{kind} is no kind of resource")


def grant_key(user: str, kind: auth_pb2.ResourceKind.ValueType, resource: str, prefix: str = "") -> GrantKey:
    """What makes up a grant; InvalidArgument names, after the prefix, each field that is wrong."""
    paths = f"{prefix}user", f"{prefix}kind", f"{prefix}resource"
    require(given(paths[0], user), given(paths[1], kind), known_kind(paths[1], kind), given(paths[2], resource))
    return GrantKey(user, KINDS[kind], resource)


def grant_filter(request: auth_pb2.ListGrantsRequest) -> GrantFilter:
    require(known_kind("kind", request.kind))
    return GrantFilter(request.user or None, KINDS.get(request.kind), request.resource or None)


def identity(principal: Principal) -> auth_pb2.WhoAmIResponse:
    """Whom the caller's token belongs to: the service itself, also when it acts for a user."""
    is_user = principal.kind is PrincipalKind.USER and not principal.acting_service
    return auth_pb2.WhoAmIResponse(
        user=principal.name if is_user else "",
        service="" if is_user else principal.acting_service or principal.name,
        root=is_user and principal.root,
        expire_time=timestamp(datetime.fromtimestamp(principal.token_expires, UTC)),
    )


def fact(event: AccountEvent) -> Fact:
    """The event, ready to be stored."""
    match event:
        case UserChanged(kind, user, version):
            payload = auth_pb2.UserEvent(kind=CHANGE_KINDS[kind], user=user_message(user))
            return Fact(USER_EVENT, f"user/{user.name}", version, payload.SerializeToString(deterministic=True))
        case GrantChanged(kind, grant, version):
            told = auth_pb2.GrantEvent(kind=CHANGE_KINDS[kind], grant=grant_message(grant))
            return Fact(GRANT_EVENT, f"grant/{grant.key}", version, told.SerializeToString(deterministic=True))
