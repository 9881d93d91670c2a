"""What somebody wants to be run, to and from the wire."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, TypeVar, cast

from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.protobuf.struct_pb2 import Struct

from paddleflow.job.v1 import spec_pb2
from paddleflow.models.job_specs import (
    FilesystemMount,
    Framework,
    JobFlavour,
    JobSpec,
    LimitFlavour,
    Member,
    Priority,
    RetryPolicy,
    Role,
    TimeLimits,
    Work,
)
from paddleflow.structs import plain
from paddleflow.wire.base import EnumCodec, amounts_from_wire, amounts_to_wire, build, duration_to_wire

M = TypeVar("M", spec_pb2.JobSpec, spec_pb2.Member)

PRIORITY = EnumCodec(Priority, spec_pb2.Priority, "PRIORITY_")
FRAMEWORK = EnumCodec(Framework, spec_pb2.Framework, "FRAMEWORK_")
ROLE = EnumCodec(Role, spec_pb2.Role, "ROLE_")


def spec_to_wire(spec: JobSpec) -> spec_pb2.JobSpec:
    message = build(
        spec_pb2.JobSpec,
        id=spec.id,
        name=spec.name,
        framework=FRAMEWORK.number(spec.framework),
        members=[_member_to_wire(member) for member in spec.members],
        retry=_retry_to_wire(spec.retry),
        limits=_limits_to_wire(spec.limits),
    )
    return _with_work(message, spec)


def spec_from_wire(message: spec_pb2.JobSpec) -> JobSpec:
    return JobSpec(
        id=message.id,
        name=message.name,
        framework=FRAMEWORK.member(message.framework),
        members=tuple(_member_from_wire(member) for member in message.members),
        retry=_retry_from_wire(message.retry),
        limits=_limits_from_wire(message.limits),
        **_work_from_wire(message),
    )


def _member_to_wire(member: Member) -> spec_pb2.Member:
    message = build(
        spec_pb2.Member,
        role=ROLE.number(member.role),
        replicas=member.replicas,
        max_replicas=member.max_replicas,
        replica_step=member.replica_step,
    )
    return _with_work(message, member)


def _member_from_wire(message: spec_pb2.Member) -> Member:
    return Member(
        role=ROLE.member(message.role),
        replicas=message.replicas,
        max_replicas=message.max_replicas,
        replica_step=message.replica_step,
        **_work_from_wire(message),
    )


def _with_work(message: M, work: Work) -> M:
    """The message with what a job and a member have in common; what is empty stays unset."""
    common = build(
        type(message),
        labels=work.labels,
        annotations=work.annotations,
        scheduling_policy=_policy_to_wire(work),
        flavour=_flavour_to_wire(work.flavour),
        limit_flavour=_limit_to_wire(work.limit_flavour),
        fs=_mount_to_wire(work.fs) if work.fs else None,
        extra_fs=[_mount_to_wire(mount) for mount in work.extra_fs],
        image=work.image,
        env=work.env,
        secret_env={name: build(spec_pb2.SecretReference, file=file) for name, file in work.secret_env.items()},
        command=work.command,
        args=work.args,
        port=work.port,
        extension_template=_template_to_wire(work.extension_template),
    )
    message.MergeFrom(common)
    return message


def _work_from_wire(message: spec_pb2.JobSpec | spec_pb2.Member) -> dict[str, Any]:
    policy, limit = message.scheduling_policy, message.limit_flavour
    return {
        "labels": dict(sorted(message.labels.items())),
        "annotations": dict(sorted(message.annotations.items())),
        "queue": policy.queue,
        "priority": PRIORITY.member(policy.priority),
        "flavour": _flavour_from_wire(message.flavour),
        "limit_flavour": LimitFlavour(_flavour_from_wire(limit.flavour), limit.none),
        "fs": _mount_from_wire(message.fs) if message.HasField("fs") else None,
        "extra_fs": tuple(_mount_from_wire(mount) for mount in message.extra_fs),
        "image": message.image,
        "env": dict(sorted(message.env.items())),
        "secret_env": {name: secret.file for name, secret in sorted(message.secret_env.items())},
        "command": message.command,
        "args": tuple(message.args),
        "port": message.port,
        "extension_template": plain(message.extension_template) or None,
    }


def _policy_to_wire(work: Work) -> spec_pb2.SchedulingPolicy | None:
    if not (work.queue or work.priority):
        return None
    return build(spec_pb2.SchedulingPolicy, queue=work.queue, priority=PRIORITY.number(work.priority))


def _flavour_to_wire(flavour: JobFlavour) -> spec_pb2.Flavour | None:
    if flavour == JobFlavour():
        return None
    return build(spec_pb2.Flavour, name=flavour.name, amounts=amounts_to_wire(flavour.amounts))


def _flavour_from_wire(flavour: spec_pb2.Flavour) -> JobFlavour:
    return JobFlavour(flavour.name, amounts_from_wire(flavour.amounts))


def _limit_to_wire(limit: LimitFlavour) -> spec_pb2.LimitFlavour | None:
    if limit == LimitFlavour():
        return None
    return build(spec_pb2.LimitFlavour, none=limit.none, flavour=_flavour_to_wire(limit.flavour))


def _mount_to_wire(mount: FilesystemMount) -> spec_pb2.FilesystemMount:
    return build(
        spec_pb2.FilesystemMount,
        id=mount.id,
        name=mount.name,
        mount_path=mount.mount_path,
        sub_path=mount.sub_path,
        read_only=mount.read_only,
    )


def _mount_from_wire(mount: spec_pb2.FilesystemMount) -> FilesystemMount:
    return FilesystemMount(mount.name, mount.mount_path, mount.sub_path, mount.read_only, mount.id)


def _template_to_wire(template: Mapping[str, object] | None) -> Struct | None:
    if not template:
        return None
    message = Struct()
    message.update(cast("dict[str, Any]", template))
    return message


def _retry_to_wire(retry: RetryPolicy) -> spec_pb2.RetryPolicy | None:
    if retry == RetryPolicy():
        return None
    return build(
        spec_pb2.RetryPolicy,
        limit=retry.limit,
        backoff=_lasting_to_wire("retry.backoff", retry.backoff),
        max_backoff=_lasting_to_wire("retry.maxBackoff", retry.max_backoff),
        not_on=retry.not_on,
        no_requeue=retry.no_requeue,
    )


def _retry_from_wire(retry: spec_pb2.RetryPolicy) -> RetryPolicy:
    return RetryPolicy(
        limit=retry.limit,
        backoff=_lasting_from_wire(retry, "backoff"),
        max_backoff=_lasting_from_wire(retry, "max_backoff"),
        not_on=tuple(retry.not_on),
        no_requeue=retry.no_requeue,
    )


def _limits_to_wire(limits: TimeLimits) -> spec_pb2.TimeLimits | None:
    if limits == TimeLimits():
        return None
    return build(
        spec_pb2.TimeLimits,
        pending=_lasting_to_wire("limits.pending", limits.pending),
        run=_lasting_to_wire("limits.run", limits.run),
        grace=_lasting_to_wire("limits.grace", limits.grace),
        protected=_lasting_to_wire("limits.protected", limits.protected),
        kept=_lasting_to_wire("limits.kept", limits.kept),
        steady=_lasting_to_wire("limits.steady", limits.steady),
    )


def _limits_from_wire(limits: spec_pb2.TimeLimits) -> TimeLimits:
    return TimeLimits(
        pending=_lasting_from_wire(limits, "pending"),
        run=_lasting_from_wire(limits, "run"),
        grace=_lasting_from_wire(limits, "grace"),
        protected=_lasting_from_wire(limits, "protected"),
        kept=_lasting_from_wire(limits, "kept"),
        steady=_lasting_from_wire(limits, "steady"),
    )


def _lasting_to_wire(field: str, lasting: timedelta | None) -> Duration | None:
    return None if lasting is None else duration_to_wire(field, lasting)


def _lasting_from_wire(message: Message, field: str) -> timedelta | None:
    told: Duration = getattr(message, field)
    return told.ToTimedelta() if message.HasField(field) else None
