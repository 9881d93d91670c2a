"""Who may call what."""

from __future__ import annotations

import pytest
from google.protobuf import descriptor_pool
from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto

from paddleflow.common.v1 import event_pb2, info_pb2
from paddleflow.problems import PermissionDenied, Problem, TokenMissing
from pf_kit.access import EXEMPT, Access, MissingRule, Rule, authorise, rules
from pf_kit.principal import ANONYMOUS, Principal, PrincipalKind
from support.kit_echo.stubs import echo_pb2

ALICE = Principal(PrincipalKind.USER, "alice")
ROOT = Principal(PrincipalKind.USER, "root", root=True)
JOB = Principal(PrincipalKind.SERVICE, "job", root=True)
JOB_FOR_ALICE = Principal(PrincipalKind.USER, "alice", acting_service="job")
REPLICA = Principal(PrincipalKind.JOB, "job-1")


def allowed(access: Access, principal: Principal, *, job: bool = False) -> type[Problem] | None:
    try:
        authorise(Rule(access, leader=False, mutation=True, streaming=False, job=job), principal)
    except Problem as problem:
        return type(problem)
    return None


CALLERS = (ANONYMOUS, ALICE, ROOT, JOB, JOB_FOR_ALICE)


@pytest.mark.parametrize(
    ("access", "outcomes"),
    [
        (Access.ANYONE, (None, None, None, None, None)),
        (Access.USER, (TokenMissing, None, None, None, None)),
        (Access.ROOT, (TokenMissing, PermissionDenied, None, None, PermissionDenied)),
        (Access.SERVICE, (TokenMissing, PermissionDenied, None, None, None)),
    ],
)
def test_each_rule_lets_in_whom_it_names(access: Access, outcomes: tuple[type[Problem] | None, ...]) -> None:
    assert tuple(allowed(access, caller) for caller in CALLERS) == outcomes


@pytest.mark.parametrize("access", [Access.USER, Access.ROOT, Access.SERVICE])
def test_a_job_is_let_in_only_where_the_rule_says_so(access: Access) -> None:
    assert allowed(access, REPLICA) is PermissionDenied
    assert allowed(access, REPLICA, job=True) is None
    assert allowed(access, ALICE, job=True) is allowed(access, ALICE), "it says nothing of others"


def test_rules_are_read_from_the_protos() -> None:
    found = rules([echo_pb2.DESCRIPTOR.services_by_name["EchoService"]])
    assert found == {
        "/echo.v1.EchoService/PutNote": Rule(Access.USER, leader=False, mutation=True, streaming=False),
        "/echo.v1.EchoService/GetNote": Rule(Access.USER, leader=False, mutation=False, streaming=False),
        "/echo.v1.EchoService/WatchNotes": Rule(Access.USER, leader=False, mutation=False, streaming=True),
        "/echo.v1.EchoService/Hello": Rule(Access.ANYONE, leader=False, mutation=False, streaming=False),
        "/echo.v1.EchoService/Govern": Rule(Access.ROOT, leader=False, mutation=True, streaming=False),
        "/echo.v1.EchoService/Serve": Rule(Access.SERVICE, leader=False, mutation=True, streaming=False),
        "/echo.v1.EchoService/Lead": Rule(Access.USER, leader=True, mutation=True, streaming=False),
    }


def test_every_common_method_has_a_rule() -> None:
    services = [*info_pb2.DESCRIPTOR.services_by_name.values(), *event_pb2.DESCRIPTOR.services_by_name.values()]
    assert len(rules(services)) == sum(len(service.methods) for service in services) > 0


def service_without_rule(name: str) -> ServiceDescriptor:
    """A service whose method has no rule."""
    package = f"unruled{len(name)}.v1"
    file = FileDescriptorProto(name=f"{package}.proto", package=package, syntax="proto3")
    file.message_type.add(name="Empty")
    method = file.service.add(name=name).method.add(name="Do")
    method.input_type = method.output_type = f".{package}.Empty"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return pool.FindServiceByName(f"{package}.{name}")


def test_a_method_without_a_rule_keeps_a_server_from_starting() -> None:
    with pytest.raises(MissingRule, match=r"Careless\.Do has no access rule"):
        rules([service_without_rule("Careless")])


def test_only_official_services_are_exempt() -> None:
    assert {name.split(".")[0] for name in EXEMPT} == {"grpc"}
