"""All that is wrong with a spec as it was written, whatever it is made with.

Priorities VERY_LOW and VERY_HIGH may be asked for from the beginning.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import timedelta

from paddleflow.problems import Violation
from pf_job.specs import fields
from pf_job.specs.defaults import SMALLEST, joined
from pf_job.specs.domain import (
    CPU,
    DEFAULT_QUEUE,
    MEMORY,
    FilesystemMount,
    Flavour,
    Framework,
    JobSpec,
    JobType,
    LimitFlavour,
    Member,
    RetryPolicy,
    Role,
    TimeLimits,
    Work,
)
from pf_kit.fields import dns_label, one_line, shown, within

NAME_LENGTH = 512
REFERENCE_LENGTH = 255
"""Characters of a name that is looked up elsewhere."""
IMAGE_LENGTH = 1024
COMMAND_BYTES = 64 * 1024
MOST_ARGS = 1000
ARGS_BYTES = 128 * 1024
MOST_MOUNTS = 64
MOST_REPLICAS = 10_000
MOST_MEMBERS = len(Role)
MOST_RETRIES = 100
LAST_PORT = 65535
MOST_STATUSES = 255
TEMPLATE_BYTES = 256 * 1024
LONGEST_GRACE = timedelta(hours=1)

_INSTANT = timedelta()
_MOMENT = timedelta(microseconds=1)


def violations(spec: JobSpec, job_type: JobType) -> Iterator[Violation]:
    """What is wrong, each with its path in the document. What a framework asks for, it says itself."""
    if spec.id:
        yield from dns_label("id", spec.id)
    yield from one_line("name", spec.name, NAME_LENGTH)
    yield from _work("", spec.work)
    yield from _type(spec, job_type)
    yield from _members(spec)
    yield from _retry(spec.retry)
    yield from _limits(spec.limits)


def joined_violations(spec: JobSpec) -> Iterator[Violation]:
    """What is wrong only with job and member together, each of which may be right.

    To be asked once more when flavours and filesystems have been looked up: as long as it is not known what they are,
    nothing is wrong with them.
    """
    parts = [(f"members[{at}].", member.work) for at, member in enumerate(spec.members)] or [("", spec.work)]
    for place, work in parts:
        both = joined(spec.work, work)
        yield from _covered(place, both, work)
        yield from _apart(place, both.mounts)
        yield from _whole_environment(place, both.env)


def _type(spec: JobSpec, job_type: JobType) -> Iterator[Violation]:
    match job_type:
        case JobType.SINGLE:
            if spec.members:
                yield Violation("members", "a single job has none; with members it is a distributed job")
            if spec.framework not in (None, Framework.STANDALONE):
                yield Violation("framework", "is for jobs with members; a single job has none, or standalone")
        case JobType.DISTRIBUTED:
            if spec.framework in (None, Framework.STANDALONE):
                rest = ", ".join(each for each in Framework if each is not Framework.STANDALONE)
                yield Violation("framework", f"a distributed job has one of {rest}")
            if not spec.members and not spec.work.extension_template:
                yield Violation("members", "a distributed job needs members")
        case JobType.WORKFLOW:
            if spec.members:
                yield Violation("members", "a workflow has none: it says in extensionTemplate what it runs")
            if not spec.work.extension_template:
                yield Violation("extensionTemplate", "a workflow needs one")


def _members(spec: JobSpec) -> Iterator[Violation]:
    if len(spec.members) > MOST_MEMBERS:
        yield Violation("members", f"there are {MOST_MEMBERS} roles, and {len(spec.members)} members")
        return
    queue = spec.work.scheduling_policy.queue or DEFAULT_QUEUE
    seen = set()
    for at, member in enumerate(spec.members):
        place = f"members[{at}]."
        if member.role in seen:
            yield Violation(f"{place}role", f"{member.role} is there already; pworker is the same as worker")
        seen.add(member.role)
        yield from _member(place, member)
        if member.work.scheduling_policy.queue not in ("", queue):
            yield Violation(f"{place}schedulingPolicy.queue", f"must be the job's, {shown(queue)}")
    if sum(member.most for member in spec.members) > MOST_REPLICAS:
        yield Violation("members", f"a job has at most {MOST_REPLICAS} replicas")
    yield from joined_violations(spec)


def _member(place: str, member: Member) -> Iterator[Violation]:
    yield from within(f"{place}replicas", member.replicas, 1, MOST_REPLICAS)
    if member.max_replicas:
        yield from within(f"{place}maxReplicas", member.max_replicas, max(1, member.replicas), MOST_REPLICAS)
    yield from within(f"{place}replicaStep", member.replica_step, 0, MOST_REPLICAS)
    if member.elastic and member.replica_step > member.most - member.replicas:
        yield Violation(
            f"{place}replicaStep", "is more than lies between replicas and maxReplicas: it would never grow"
        )
    yield from _work(place, member.work)


def _work(place: str, work: Work) -> Iterator[Violation]:
    yield from fields.label_pairs(f"{place}labels", work.labels)
    yield from fields.annotation_pairs(f"{place}annotations", work.annotations)
    if work.scheduling_policy.queue:
        yield from dns_label(f"{place}schedulingPolicy.queue", work.scheduling_policy.queue)
    yield from _flavour(f"{place}flavour", work.flavour, whole=True)
    yield from _limit(f"{place}limitFlavour", work.limit_flavour)
    yield from _mounts(place, work)
    yield from one_line(f"{place}image", work.image, IMAGE_LENGTH)
    yield from _environment(place, work)
    yield from _program(place, work)
    yield from within(f"{place}port", work.port, 0, LAST_PORT)
    yield from _template(f"{place}extensionTemplate", work.extension_template)


def _flavour(field: str, flavour: Flavour, *, whole: bool) -> Iterator[Violation]:
    yield from one_line(f"{field}.name", flavour.name, REFERENCE_LENGTH)
    yield from fields.amounts(field, flavour.amounts)
    if not whole or flavour.named or not flavour.amounts:
        return
    for resource in (CPU, MEMORY):
        if not flavour.amounts.get(resource):
            yield Violation(fields.amount_field(field, resource), "must be more than 0 where amounts are given")


def _limit(field: str, limit: LimitFlavour) -> Iterator[Violation]:
    if limit.none and not limit.flavour.empty:
        yield Violation(field, "is NONE, and has amounts")
    yield from _flavour(field, limit.flavour, whole=False)


def _covered(place: str, both: Work, member: Work) -> Iterator[Violation]:
    """Nothing is limited to less than it takes, as far as amounts are known."""
    told = place if not member.limit_flavour.empty or not member.flavour.empty else ""
    taken = SMALLEST if both.flavour.empty else both.flavour
    for resource, most in both.limit_flavour.flavour.amounts.items():
        if taken.amounts.get(resource, 0) > most:
            field = fields.amount_field(f"{told}limitFlavour", resource)
            yield Violation(field, "is less than what a replica takes")


def _mounts(place: str, work: Work) -> Iterator[Violation]:
    if work.fs:
        yield from _mount(f"{place}fs", work.fs)
    for at, mount in enumerate(work.extra_fs[:MOST_MOUNTS]):
        yield from _mount(f"{place}extraFS[{at}]", mount)
    if len(work.extra_fs) > MOST_MOUNTS:
        yield Violation(f"{place}extraFS", f"must be at most {MOST_MOUNTS}")


def _mount(field: str, mount: FilesystemMount) -> Iterator[Violation]:
    if not mount.id and not mount.name:
        yield Violation(f"{field}.name", "must be said, or the id")
    yield from one_line(f"{field}.id", mount.id, REFERENCE_LENGTH)
    yield from one_line(f"{field}.name", mount.name, REFERENCE_LENGTH)
    if mount.mount_path:
        yield from fields.absolute_path(f"{field}.mountPath", mount.mount_path)
    yield from fields.inner_path(f"{field}.subPath", mount.sub_path)


def _apart(place: str, mounts: tuple[FilesystemMount, ...]) -> Iterator[Violation]:
    """Two filesystems do not appear at one path."""
    paths = Counter(mount.path for mount in mounts if mount.path)
    for path, times in paths.items():
        if times > 1:
            yield Violation(f"{place}extraFS", f"{times} filesystems would appear at {shown(path)}")


def _environment(place: str, work: Work) -> Iterator[Violation]:
    yield from fields.variables(f"{place}env", work.env)
    if len(work.secret_env) > fields.MOST_VARIABLES:
        yield Violation(f"{place}secretEnv", f"must have at most {fields.MOST_VARIABLES} variables")
        return
    for name, file in work.secret_env.items():
        yield from fields.variable_name(f"{place}secretEnv", name)
        yield from fields.absolute_path(f"{place}secretEnv.{name[:80]}.file", file)
        if name in work.env:
            yield Violation(f"{place}secretEnv.{name[:80]}", "is in env too")


def _whole_environment(place: str, env: Mapping[str, str]) -> Iterator[Violation]:
    whole = sum(fields.size(name) + fields.size(value) + 2 for name, value in env.items())
    if whole > fields.ENVIRONMENT_BYTES:
        most = fields.ENVIRONMENT_BYTES // 1024
        yield Violation(f"{place}env", f"must have at most {most} KiB together, the job's included")


def _program(place: str, work: Work) -> Iterator[Violation]:
    if fields.size(work.command) > COMMAND_BYTES:
        yield Violation(f"{place}command", f"must have at most {COMMAND_BYTES // 1024} KiB")
    elif "\0" in work.command:
        yield Violation(f"{place}command", "must not contain NUL")
    if len(work.args) > MOST_ARGS or sum(map(fields.size, work.args)) > ARGS_BYTES:
        yield Violation(f"{place}args", f"must be at most {MOST_ARGS}, of {ARGS_BYTES // 1024} KiB together")
    for at, argument in enumerate(work.args[:MOST_ARGS]):
        if "\0" in argument:
            yield Violation(f"{place}args[{at}]", "must not contain NUL")


def _template(field: str, template: Mapping[str, object] | None) -> Iterator[Violation]:
    if not template:
        return
    for key in ("apiVersion", "kind"):
        if not isinstance(told := template.get(key), str) or not told:
            yield Violation(f"{field}.{key}", "must be said, as of any object of Kubernetes")
    if len(json.dumps(template)) > TEMPLATE_BYTES:
        yield Violation(field, f"must have at most {TEMPLATE_BYTES // 1024} KiB as JSON")


def _retry(retry: RetryPolicy) -> Iterator[Violation]:
    yield from within("retry.limit", retry.limit, 0, MOST_RETRIES)
    yield from fields.span("retry.backoff", retry.backoff, _INSTANT)
    yield from fields.span("retry.maxBackoff", retry.max_backoff, retry.backoff or _INSTANT)
    if len(retry.not_on) > MOST_STATUSES:
        yield Violation("retry.notOn", f"must be at most {MOST_STATUSES}")
        return
    for at, status in enumerate(retry.not_on):
        yield from within(f"retry.notOn[{at}]", status, 1, MOST_STATUSES)


def _limits(limits: TimeLimits) -> Iterator[Violation]:
    yield from fields.span("limits.pending", limits.pending, _MOMENT)
    yield from fields.span("limits.run", limits.run, _MOMENT)
    yield from fields.span("limits.grace", limits.grace, _INSTANT, LONGEST_GRACE)
    yield from fields.span("limits.protected", limits.protected, _INSTANT)
    yield from fields.span("limits.kept", limits.kept, _INSTANT)
    yield from fields.span("limits.steady", limits.steady, _INSTANT)
