from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from google.protobuf.duration_pb2 import Duration
from hypothesis import given
from hypothesis import strategies as st

from paddleflow.auth.v1 import auth_pb2
from paddleflow.common.v1 import event_pb2
from paddleflow.problems import InvalidArgument
from pf_kit.changes import ChangeKind
from pf_kit.principal import Principal, PrincipalKind
from pf_kit.wire import CHANGE_KINDS
from pf_queue.accounts.convert import (
    KIND_VALUES,
    claims_of,
    fact,
    grant_filter,
    grant_key,
    identity,
    lifetime_of,
    token_message,
    user_message,
)
from pf_queue.accounts.domain import (
    Grant,
    GrantChanged,
    GrantFilter,
    GrantKey,
    ResourceKind,
    Token,
    User,
    UserChanged,
)

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
ALICE = User("alice", "$scrypt$hidden", 26, NOON, NOON + timedelta(seconds=1))
TOKEN = Token("id", "alice", "for ci", NOON + timedelta(microseconds=5), NOON + timedelta(hours=1))


def test_every_kind_has_a_value_of_its_own_and_every_value_a_kind() -> None:
    assert set(KIND_VALUES) == set(ResourceKind)
    assert set(KIND_VALUES.values()) == set(auth_pb2.ResourceKind.values()) - {0}
    assert set(CHANGE_KINDS) == set(ChangeKind)
    assert set(CHANGE_KINDS.values()) == set(event_pb2.ChangeKind.values()) - {0, event_pb2.CHANGE_KIND_EXISTING}


def test_a_user_is_sent_without_its_password() -> None:
    message = user_message(ALICE)
    assert (message.name, message.etag) == ("alice", "1a")
    assert message.create_time.ToDatetime(UTC) == ALICE.create_time
    assert message.update_time.ToDatetime(UTC) == ALICE.update_time
    assert b"hidden" not in message.SerializeToString()


def test_a_token_is_sent_whole_and_says_the_same_in_its_claims() -> None:
    message = token_message(TOKEN)
    assert (message.id, message.user, message.description) == ("id", "alice", "for ci")
    assert message.create_time.ToDatetime(UTC) == TOKEN.create_time
    assert message.expire_time.ToDatetime(UTC) == TOKEN.expire_time
    claims = claims_of(message, "installation")
    assert (claims.issuer, claims.subject, claims.id) == ("installation", "user/alice", "id")
    assert (claims.issued, claims.expires) == (int(NOON.timestamp()), int(NOON.timestamp()) + 3600)


@given(st.sampled_from(ChangeKind), st.integers(min_value=27, max_value=2**60))
def test_a_change_becomes_a_fact_about_its_subject(kind: ChangeKind, version: int) -> None:
    of_user = fact(UserChanged(kind, ALICE, version))
    assert (of_user.type, of_user.subject, of_user.version) == ("paddleflow.auth.v1.UserEvent", "user/alice", version)
    assert b"hidden" not in of_user.payload
    assert auth_pb2.UserEvent.FromString(of_user.payload).user == user_message(ALICE)
    grant = Grant(GrantKey("alice", ResourceKind.FILESYSTEM, "data"), 5, NOON)
    of_grant = fact(GrantChanged(kind, grant, version))
    assert (of_grant.type, of_grant.subject) == ("paddleflow.auth.v1.GrantEvent", "grant/alice/filesystem/data")
    assert auth_pb2.GrantEvent.FromString(of_grant.payload).kind == CHANGE_KINDS[kind]


def test_a_lifetime_not_asked_for_is_none() -> None:
    assert lifetime_of(auth_pb2.CreateTokenRequest()) is None
    assert lifetime_of(auth_pb2.CreateTokenRequest(lifetime=Duration())) == timedelta(0)


@given(st.timedeltas(min_value=timedelta(days=-3000), max_value=timedelta(days=3000)))
def test_a_lifetime_arrives_as_it_was_sent(lifetime: timedelta) -> None:
    message = Duration()
    message.FromTimedelta(lifetime)
    assert lifetime_of(auth_pb2.CreateTokenRequest(lifetime=message)) == lifetime


@pytest.mark.parametrize(
    "message",
    [Duration(seconds=2**63 - 1), Duration(seconds=-(2**63)), Duration(nanos=10**9), Duration(nanos=-(2**31))],
)
def test_what_is_no_duration_is_refused(message: Duration) -> None:
    with pytest.raises(InvalidArgument) as refused:
        lifetime_of(auth_pb2.CreateTokenRequest(lifetime=message))
    assert [violation.field for violation in refused.value.violations] == ["lifetime"]


def test_every_part_of_a_grant_must_be_given() -> None:
    with pytest.raises(InvalidArgument) as refused:
        grant_key("", auth_pb2.RESOURCE_KIND_UNSPECIFIED, "", "grant.")
    assert [violation.field for violation in refused.value.violations] == ["grant.user", "grant.kind", "grant.resource"]


def test_an_unknown_kind_of_resource_is_refused() -> None:
    with pytest.raises(InvalidArgument):
        grant_key("alice", 77, "data")  # type: ignore[arg-type]  # what a newer client may send
    with pytest.raises(InvalidArgument):
        grant_filter(auth_pb2.ListGrantsRequest(kind=77))  # type: ignore[arg-type]  # as above


def test_a_filter_field_left_out_matches_all() -> None:
    assert grant_filter(auth_pb2.ListGrantsRequest()) == GrantFilter()
    request = auth_pb2.ListGrantsRequest(user="alice", kind=auth_pb2.RESOURCE_KIND_QUEUE, resource="team-a")
    assert grant_filter(request) == GrantFilter("alice", ResourceKind.QUEUE, "team-a")


@pytest.mark.parametrize(
    ("principal", "user", "service", "root"),
    [
        (Principal(PrincipalKind.USER, "alice", token_expires=60), "alice", "", False),
        (Principal(PrincipalKind.USER, "root", root=True, token_expires=60), "root", "", True),
        (Principal(PrincipalKind.SERVICE, "job", root=True, token_expires=60), "", "job", False),
        (Principal(PrincipalKind.USER, "alice", token_expires=60, acting_service="job"), "", "job", False),
    ],
)
def test_a_token_belongs_to_whom_it_was_made_for(principal: Principal, user: str, service: str, root: bool) -> None:
    reply = identity(principal)
    assert (reply.user, reply.service, reply.root, reply.expire_time.seconds) == (user, service, root, 60)
