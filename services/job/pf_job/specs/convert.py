"""Between messages and the values of a spec."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from enum import StrEnum
from math import isfinite
from typing import Any, TypeVar, cast

from google.protobuf.duration_pb2 import Duration
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from google.protobuf.struct_pb2 import Struct, Value

from paddleflow.common.v1 import resources_pb2
from paddleflow.job.v1 import spec_pb2
from paddleflow.problems import Violation
from pf_job.specs.domain import (
    FilesystemMount,
    Flavour,
    Framework,
    JobSpec,
    LimitFlavour,
    Member,
    Priority,
    RetryPolicy,
    Role,
    SchedulingPolicy,
    TimeLimits,
    Work,
)

E = TypeVar("E", bound=StrEnum)
M = TypeVar("M", spec_pb2.JobSpec, spec_pb2.Member)

PRIORITIES = {priority: spec_pb2.Priority.Value(f"PRIORITY_{priority.name}") for priority in Priority}
FRAMEWORKS = {framework: spec_pb2.Framework.Value(f"FRAMEWORK_{framework.name}") for framework in Framework}
ROLES = {role: spec_pb2.Role.Value(f"ROLE_{role.name}") for role in Role}
PRIORITY_OF = {number: priority for priority, number in PRIORITIES.items()}
FRAMEWORK_OF = {number: framework for framework, number in FRAMEWORKS.items()}
ROLE_OF = {number: role for role, number in ROLES.items()}

_SECONDS = 315_576_000_000
"""What a Duration may hold, either way."""


def spec_violations(message: spec_pb2.JobSpec) -> Iterator[Violation]:
    """What the message has, and no spec can hold."""
    yield from _unknown("framework", message.framework, FRAMEWORKS)
    yield from _work_violations("", message)
    for at, member in enumerate(message.members):
        yield from _unknown(f"members[{at}].role", member.role, ROLES)
        yield from _work_violations(f"members[{at}].", member)
    for field in ("backoff", "max_backoff"):
        yield from _time(f"retry.{_camel(field)}", getattr(message.retry, field))
    for field in ("pending", "run", "grace", "protected", "kept", "steady"):
        yield from _time(f"limits.{field}", getattr(message.limits, field))


def given_spec(message: spec_pb2.JobSpec) -> JobSpec:
    """The values that a caller gives, right or wrong; those that `spec_violations` names are left out."""
    return JobSpec(
        id=message.id,
        name=message.name,
        work=_work_of(message),
        framework=FRAMEWORK_OF.get(message.framework),
        members=tuple(_member_of(member) for member in message.members),
        retry=_retry_of(message.retry),
        limits=_limits_of(message.limits),
    )


def spec_message(spec: JobSpec) -> spec_pb2.JobSpec:
    message = spec_pb2.JobSpec(
        id=spec.id,
        name=spec.name,
        framework=FRAMEWORKS[spec.framework] if spec.framework else spec_pb2.FRAMEWORK_UNSPECIFIED,
        members=[_member_message(member) for member in spec.members],
        retry=_retry_message(spec.retry),
        limits=_limits_message(spec.limits),
    )
    _put_work(spec.work, message)
    return message


def _member_of(message: spec_pb2.Member) -> Member:
    return Member(
        # A member without a role has the one that no framework takes.
        role=ROLE_OF.get(message.role, Role.MAIN),
        replicas=message.replicas,
        max_replicas=message.max_replicas,
        replica_step=message.replica_step,
        work=_work_of(message),
    )


def _member_message(member: Member) -> spec_pb2.Member:
    message = spec_pb2.Member(
        role=ROLES[member.role],
        replicas=member.replicas,
        max_replicas=member.max_replicas,
        replica_step=member.replica_step,
    )
    _put_work(member.work, message)
    return message


def _work_of(message: spec_pb2.JobSpec | spec_pb2.Member) -> Work:
    policy = message.scheduling_policy
    return Work(
        labels=dict(message.labels),
        annotations=dict(message.annotations),
        scheduling_policy=SchedulingPolicy(queue=policy.queue, priority=PRIORITY_OF.get(policy.priority)),
        flavour=_flavour_of(message.flavour),
        limit_flavour=LimitFlavour(none=message.limit_flavour.none, flavour=_flavour_of(message.limit_flavour.flavour)),
        fs=_mount_of(message.fs) if _is_set(message.fs) else None,
        extra_fs=tuple(_mount_of(mount) for mount in message.extra_fs if _is_set(mount)),
        image=message.image,
        env=dict(message.env),
        secret_env={name: reference.file for name, reference in message.secret_env.items()},
        command=message.command,
        args=tuple(message.args),
        port=message.port,
        extension_template=_template_of(message.extension_template),
    )


def _put_work(work: Work, message: M) -> None:
    """Fills in what a job and a member have in common; what is empty stays unset."""
    message.MergeFrom(
        type(message)(
            labels=work.labels,
            annotations=work.annotations,
            scheduling_policy=_policy_message(work.scheduling_policy),
            flavour=_flavour_message(work.flavour),
            limit_flavour=_limit_message(work.limit_flavour),
            fs=_mount_message(work.fs) if work.fs else None,
            extra_fs=[_mount_message(mount) for mount in work.extra_fs],
            image=work.image,
            env=work.env,
            secret_env={name: spec_pb2.SecretReference(file=file) for name, file in work.secret_env.items()},
            command=work.command,
            args=work.args,
            port=work.port,
            extension_template=_template_message(work.extension_template),
        )
    )


def _policy_message(policy: SchedulingPolicy) -> spec_pb2.SchedulingPolicy | None:
    if policy == SchedulingPolicy():
        return None
    priority = PRIORITIES[policy.priority] if policy.priority else spec_pb2.PRIORITY_UNSPECIFIED
    return spec_pb2.SchedulingPolicy(queue=policy.queue, priority=priority)


def _flavour_of(message: spec_pb2.Flavour) -> Flavour:
    return Flavour(name=message.name, amounts=dict(message.amounts.amounts))


def _flavour_message(flavour: Flavour) -> spec_pb2.Flavour | None:
    if flavour == Flavour():
        return None
    amounts = resources_pb2.Resources(amounts=flavour.amounts) if flavour.amounts else None
    return spec_pb2.Flavour(name=flavour.name, amounts=amounts)


def _limit_message(limit: LimitFlavour) -> spec_pb2.LimitFlavour | None:
    if limit == LimitFlavour():
        return None
    return spec_pb2.LimitFlavour(none=limit.none, flavour=_flavour_message(limit.flavour))


def _mount_of(message: spec_pb2.FilesystemMount) -> FilesystemMount:
    return FilesystemMount(
        id=message.id,
        name=message.name,
        mount_path=message.mount_path,
        sub_path=message.sub_path,
        read_only=message.read_only,
    )


def _mount_message(mount: FilesystemMount) -> spec_pb2.FilesystemMount:
    return spec_pb2.FilesystemMount(
        id=mount.id,
        name=mount.name,
        mount_path=mount.mount_path,
        sub_path=mount.sub_path,
        read_only=mount.read_only,
    )


def _retry_of(message: spec_pb2.RetryPolicy) -> RetryPolicy:
    return RetryPolicy(
        limit=message.limit,
        backoff=_time_of(message, "backoff"),
        max_backoff=_time_of(message, "max_backoff"),
        not_on=tuple(message.not_on),
        no_requeue=message.no_requeue,
    )


def _retry_message(retry: RetryPolicy) -> spec_pb2.RetryPolicy | None:
    if retry == RetryPolicy():
        return None
    return spec_pb2.RetryPolicy(
        limit=retry.limit,
        backoff=_time_message(retry.backoff),
        max_backoff=_time_message(retry.max_backoff),
        not_on=retry.not_on,
        no_requeue=retry.no_requeue,
    )


def _limits_of(message: spec_pb2.TimeLimits) -> TimeLimits:
    return TimeLimits(
        pending=_time_of(message, "pending"),
        run=_time_of(message, "run"),
        grace=_time_of(message, "grace"),
        protected=_time_of(message, "protected"),
        kept=_time_of(message, "kept"),
        steady=_time_of(message, "steady"),
    )


def _limits_message(limits: TimeLimits) -> spec_pb2.TimeLimits | None:
    if limits == TimeLimits():
        return None
    return spec_pb2.TimeLimits(
        pending=_time_message(limits.pending),
        run=_time_message(limits.run),
        grace=_time_message(limits.grace),
        protected=_time_message(limits.protected),
        kept=_time_message(limits.kept),
        steady=_time_message(limits.steady),
    )


def _time_of(message: Message, field: str) -> timedelta | None:
    told: Duration = getattr(message, field)
    if not message.HasField(field) or not _is_time(told):
        return None
    return timedelta(seconds=told.seconds, microseconds=told.nanos // 1000)


def _time_message(time: timedelta | None) -> Duration | None:
    if time is None:
        return None
    message = Duration()
    message.FromTimedelta(time)
    return message


def _template_of(message: Struct) -> Mapping[str, object] | None:
    """The object; none if it is empty, or holds what JSON cannot."""
    if not message.fields or not all(map(_is_json, message.fields.values())):
        return None
    template: dict[str, object] = MessageToDict(message)
    return template


def _template_message(template: Mapping[str, object] | None) -> Struct | None:
    if not template:
        return None
    message = Struct()
    message.update(cast("dict[str, Any]", template))
    return message


def _work_violations(place: str, message: spec_pb2.JobSpec | spec_pb2.Member) -> Iterator[Violation]:
    yield from _unknown(f"{place}schedulingPolicy.priority", message.scheduling_policy.priority, PRIORITIES)
    if not all(map(_is_json, message.extension_template.fields.values())):
        yield Violation(f"{place}extensionTemplate", "holds a number, or a value of no kind, that JSON does not have")


def _unknown(field: str, value: int, values: Mapping[E, int]) -> Iterator[Violation]:
    if value and value not in values.values():
        yield Violation(field, f"must be one of the values that are defined, and is {value}")


def _time(field: str, time: Duration) -> Iterator[Violation]:
    if not _is_time(time):
        yield Violation(field, "is no duration: more than 10000 years, or of two signs")


def _is_time(time: Duration) -> bool:
    one_sign = time.seconds * time.nanos >= 0
    return abs(time.seconds) <= _SECONDS and abs(time.nanos) < 1_000_000_000 and one_sign


def _is_json(value: Value) -> bool:
    match value.WhichOneof("kind"):
        case "number_value":
            return isfinite(value.number_value)
        case "struct_value":
            return all(map(_is_json, value.struct_value.fields.values()))
        case "list_value":
            return all(map(_is_json, value.list_value.values))
        case None:
            return False
        case _:
            return True


def _is_set(message: Message) -> bool:
    """True if anything is said in it: an empty object means the same as none."""
    return bool(message.ListFields())


def _camel(field: str) -> str:
    first, *rest = field.split("_")
    return first + "".join(map(str.capitalize, rest))
