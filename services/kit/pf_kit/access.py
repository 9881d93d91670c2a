"""Who may call which method, as the protos say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum

from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.descriptor_pb2 import MethodOptions

from paddleflow.common.v1 import access_pb2
from paddleflow.problems import PermissionDenied, TokenMissing
from pf_kit.principal import Principal, PrincipalKind

# Official gRPC services: their protos cannot carry our option, and they tell nothing that is secret.
EXEMPT = frozenset(
    {"grpc.health.v1.Health", "grpc.reflection.v1alpha.ServerReflection", "grpc.reflection.v1.ServerReflection"}
)


class Access(IntEnum):
    """Whom a method lets in."""

    ANYONE = access_pb2.ACCESS_ANYONE
    USER = access_pb2.ACCESS_USER
    ROOT = access_pb2.ACCESS_ROOT
    SERVICE = access_pb2.ACCESS_SERVICE


@dataclass(frozen=True, slots=True)
class Rule:
    """What a method asks of its caller and of the instance that answers."""

    access: Access
    leader: bool
    mutation: bool
    """True if the method changes something; the others are marked NO_SIDE_EFFECTS in the proto."""
    streaming: bool
    """True if the method sends, or takes, more than one message."""
    job: bool = False
    """True if the token of a job is enough."""


class MissingRule(Exception):
    """A method has no access rule, so the server must not start."""


def rules(services: Iterable[ServiceDescriptor]) -> Mapping[str, Rule]:
    """The rule of each method by its path, for example ``/paddleflow.queue.v1.QueueService/GetQueue``."""
    return {f"/{method.containing_service.full_name}/{method.name}": _rule(method) for method in _methods(services)}


def official(services: Iterable[ServiceDescriptor]) -> Mapping[str, Rule]:
    """The rule of each method of the official services among these, which is the same for all."""
    return {
        f"/{service.full_name}/{method.name}": Rule(
            Access.ANYONE, leader=False, mutation=False, streaming=_streaming(method)
        )
        for service in services
        if service.full_name in EXEMPT
        for method in service.methods
    }


def _methods(services: Iterable[ServiceDescriptor]) -> Iterator[MethodDescriptor]:
    for service in services:
        if service.full_name not in EXEMPT:
            yield from service.methods


def _rule(method: MethodDescriptor) -> Rule:
    options: MethodOptions = method.GetOptions()
    rule = options.Extensions[access_pb2.rule]
    if rule.access == access_pb2.ACCESS_UNSPECIFIED:
        raise MissingRule(f"{method.full_name} has no access rule; give it the option (paddleflow.common.v1.rule)")
    return Rule(
        access=Access(rule.access),
        leader=rule.leader,
        mutation=options.idempotency_level != MethodOptions.NO_SIDE_EFFECTS,
        streaming=_streaming(method),
        job=rule.job,
    )


def _streaming(method: MethodDescriptor) -> bool:
    return method.client_streaming or method.server_streaming


def authorise(rule: Rule, principal: Principal) -> None:
    """Raises the problem that keeps this caller out; finer checks are the method's own."""
    access = rule.access
    if access is Access.ANYONE:
        return
    if principal.kind is PrincipalKind.ANONYMOUS:
        raise TokenMissing
    if principal.kind is PrincipalKind.JOB:
        if not rule.job:
            raise PermissionDenied("The token of a job does not let its replicas do this.")
        return
    if access is Access.ROOT and not principal.root:
        raise PermissionDenied("Only the user root may do this.")
    if access is Access.SERVICE and not (is_service(principal) or principal.root):
        raise PermissionDenied("Only root and the services of this installation may do this.")


def is_service(principal: Principal) -> bool:
    """True if a service calls, for itself or for a user."""
    return principal.kind is PrincipalKind.SERVICE or bool(principal.acting_service)
