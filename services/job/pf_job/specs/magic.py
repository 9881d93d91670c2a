"""Variables whose names begin with `PF_`: settings that stand in `env`, and what replicas are told.

Read as settings, where the field that says the same is empty:

| variable | of | is |
|---|---|---|
| `PF_JOB_TYPE`, `PF_JOB_FRAMEWORK`, `PF_JOB_QUEUE_NAME` | the job | its type, `framework`, `schedulingPolicy.queue` |
| `PF_JOB_PRIORITY` | job, member | `schedulingPolicy.priority` |
| `PF_JOB_FLAVOUR`, `PF_JOB_LIMIT_FLAVOUR` | job, member | the name of `flavour`; of `limitFlavour`, or `NONE` |
| `PF_JOB_MODE` | the job | `PS` or `Collective`, which must be what the members make it |
| `PF_JOB_RESTART_POLICY` | job, member | whether a replica that failed is started again |
| `PF_MOUNT_PATH` | job, member | `NONE`: replicas do not start in their first filesystem |
| `PF_JOB_SPARK_MAIN_FILE`, `_MAIN_CLASS`, `_ARGUMENTS` | driver | what Spark runs if there is no command |
| `RAY_JOB_…` | the job | members of a Ray job that names none, see `magic_ray` |

So is one annotation of the job: `paddleflow/job-ttl-seconds` is `limits.kept`.

Set for each replica, whatever stands in `env`: `PF_JOB_ID`, `PF_JOB_TYPE`, `PF_JOB_FRAMEWORK`, `PF_JOB_MODE`,
`PF_JOB_QUEUE_NAME`, `PF_JOB_NAMESPACE`, `PF_JOB_PRIORITY`, `PF_JOB_FLAVOUR`, `PF_JOB_RESTART_POLICY`, `PF_USER_NAME`
and, if it starts in a filesystem, `PF_WORK_DIR`; unless it stands in `env`, also `PF_MOUNT_PATH`. For calling the job
service: `PF_JOB_ENDPOINT`, `PF_JOB_TOKEN` and, if the service has TLS, `PF_JOB_CA`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum
from typing import TypeVar

from paddleflow.problems import Violation
from pf_job.specs import magic_ray
from pf_job.specs.commands import MOUNT_PATH, cwd
from pf_job.specs.domain import (
    Flavour,
    Framework,
    JobSpec,
    JobType,
    LimitFlavour,
    Member,
    Mode,
    Priority,
    RestartPolicy,
    SchedulingPolicy,
    TimeLimits,
    Work,
)

TYPE = "PF_JOB_TYPE"
FRAMEWORK = "PF_JOB_FRAMEWORK"
MODE = "PF_JOB_MODE"
QUEUE = "PF_JOB_QUEUE_NAME"
NAMESPACE = "PF_JOB_NAMESPACE"
PRIORITY = "PF_JOB_PRIORITY"
FLAVOUR = "PF_JOB_FLAVOUR"
LIMIT_FLAVOUR = "PF_JOB_LIMIT_FLAVOUR"
NO_LIMIT = "NONE"
RESTART_POLICY = "PF_JOB_RESTART_POLICY"
WORK_DIR = "PF_WORK_DIR"
USER = "PF_USER_NAME"
JOB_ID = "PF_JOB_ID"
KEPT = "paddleflow/job-ttl-seconds"
"""An annotation."""

E = TypeVar("E", bound=StrEnum)

_SECONDS = re.compile(r"[0-9]{1,9}", re.ASCII)
_OLD_SINGLE = ("vcjob", "pod")
"""What a single job was called in `PF_JOB_TYPE` before."""


@dataclass(frozen=True, slots=True)
class Settings:
    """A job, and what its environment says of it."""

    spec: JobSpec
    type: JobType
    violations: tuple[Violation, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Whose a replica is."""

    job_id: str
    user: str
    namespace: str
    """Of the job's queue."""


def read(spec: JobSpec, told: JobType | None) -> Settings:
    """The job with the settings of its environment, where its fields say nothing; and which of them cannot be."""
    env = spec.work.env
    framework = spec.framework or _known(Framework, env.get(FRAMEWORK, "").lower())
    job_type = told or _type(env.get(TYPE, "")) or (JobType.DISTRIBUTED if spec.members else JobType.SINGLE)
    given = replace(spec, framework=framework if job_type is JobType.DISTRIBUTED else spec.framework)
    settled = replace(
        given,
        work=_queued(_settled(spec.work)),
        members=tuple(replace(member, work=_settled(member.work)) for member in spec.members),
        limits=_kept(spec),
    )
    wrong = list(_violations(spec))
    if framework is Framework.RAY and job_type is JobType.DISTRIBUTED and not spec.members:
        members, wrong_members = magic_ray.members(settled.work)
        settled, wrong = replace(settled, members=members), [*wrong, *wrong_members]
    return Settings(settled, job_type, tuple(wrong))


def restart_policy(work: Work) -> RestartPolicy:
    return _known(RestartPolicy, work.env.get(RESTART_POLICY, "")) or RestartPolicy.NEVER


def variables(
    identity: Identity, spec: JobSpec, job_type: JobType, mode: Mode | None, member: Member
) -> dict[str, str]:
    """What a replica of this member is told of its job. The spec is filled."""
    policy, folder = member.work.scheduling_policy, cwd(member.work)
    told = {
        JOB_ID: identity.job_id,
        USER: identity.user,
        NAMESPACE: identity.namespace,
        TYPE: job_type.value,
        FRAMEWORK: (spec.framework or Framework.STANDALONE).value,
        MODE: mode.value if mode else "",
        QUEUE: policy.queue,
        PRIORITY: policy.priority.value if policy.priority else "",
        FLAVOUR: member.work.flavour.name,
        RESTART_POLICY: restart_policy(member.work).value,
        WORK_DIR: folder,
        MOUNT_PATH: member.work.env.get(MOUNT_PATH) or folder,
    }
    return {name: value for name, value in told.items() if value}


def _settled(work: Work) -> Work:
    """With the settings that a job and a member may have."""
    env, limit = work.env, work.env.get(LIMIT_FLAVOUR, "")
    priority = work.scheduling_policy.priority or _known(Priority, env.get(PRIORITY, "").upper())
    flavour = Flavour(name=env.get(FLAVOUR, "")) if work.flavour.empty else work.flavour
    return replace(
        work,
        scheduling_policy=replace(work.scheduling_policy, priority=priority),
        flavour=work.flavour if flavour.empty else flavour,
        limit_flavour=_limit(limit) if limit and work.limit_flavour.empty else work.limit_flavour,
    )


def _queued(work: Work) -> Work:
    policy = work.scheduling_policy
    return replace(
        work,
        scheduling_policy=SchedulingPolicy(queue=policy.queue or work.env.get(QUEUE, ""), priority=policy.priority),
    )


def _kept(spec: JobSpec) -> TimeLimits:
    told = spec.work.annotations.get(KEPT, "")
    if spec.limits.kept is not None or not _SECONDS.fullmatch(told):
        return spec.limits
    return replace(spec.limits, kept=timedelta(seconds=int(told)))


def _limit(name: str) -> LimitFlavour:
    return LimitFlavour(none=True) if name.upper() == NO_LIMIT else LimitFlavour(flavour=Flavour(name=name))


def _type(word: str) -> JobType | None:
    return JobType.SINGLE if word in _OLD_SINGLE else _known(JobType, word.lower())


def _violations(spec: JobSpec) -> Iterator[Violation]:
    env = spec.work.env
    if (told := env.get(TYPE)) and not _type(told):
        yield _not_one_of(f"env.{TYPE}", JobType)
    if (told := spec.work.annotations.get(KEPT)) and not _SECONDS.fullmatch(told):
        yield Violation(f"annotations.{KEPT}", "must be a number of seconds, of at most 9 digits")
    yield from _enum(f"env.{FRAMEWORK}", env.get(FRAMEWORK, "").lower(), Framework)
    works = [("", spec.work), *((f"members[{at}].", member.work) for at, member in enumerate(spec.members))]
    for place, work in works:
        yield from _enum(f"{place}env.{PRIORITY}", work.env.get(PRIORITY, "").upper(), Priority)
        yield from _enum(f"{place}env.{RESTART_POLICY}", work.env.get(RESTART_POLICY, ""), RestartPolicy)


def _enum(field: str, word: str, kind: type[E]) -> Iterator[Violation]:
    if word and not _known(kind, word):
        yield _not_one_of(field, kind)


def _not_one_of(field: str, kind: type[StrEnum]) -> Violation:
    return Violation(field, f"must be one of {', '.join(kind)}")


def _known(kind: type[E], word: str) -> E | None:
    return kind(word) if word in kind._value2member_map_ else None
