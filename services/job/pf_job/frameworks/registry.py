"""All frameworks, and what they have to say of a job and of its replicas."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from pf_job.frameworks import mpi, mxnet, paddle, pytorch, ray, spark, standalone, tensorflow
from pf_job.frameworks.rules import Crew, Reach, Replica, Rules
from pf_job.specs.domain import Framework, JobSpec, JobType
from pf_job.specs.magic import Identity, variables

JOINED = timedelta(seconds=5)
"""Between two growths of a crew that newcomers just join."""
RESTARTED = timedelta(minutes=1)
"""Between two growths of a crew all of which is started again for them: it needs time to go on from its checkpoint."""

RULES: Mapping[Framework, Rules] = {
    module.RULES.framework: module.RULES for module in (standalone, paddle, pytorch, tensorflow, mpi, mxnet, ray, spark)
}


def rules_of(spec: JobSpec) -> Rules:
    """The rules of what a job is made with."""
    return RULES[spec.framework if spec.members and spec.framework else Framework.STANDALONE]


def together(spec: JobSpec) -> bool:
    """True if all replicas are started again when their number changes, or one of them is lost."""
    return any(member.elastic for member in spec.crew) and rules_of(spec).reach(spec) is Reach.RESTART


def steady(spec: JobSpec) -> timedelta:
    """How long a crew stays as it is before it grows again."""
    if spec.limits.steady is not None:
        return spec.limits.steady
    return RESTARTED if together(spec) else JOINED


def environment(crew: Crew, replica: Replica, identity: Identity, job_type: JobType) -> dict[str, str]:
    """All variables of a replica but the secret ones.

    What the user gives wins over what the framework says, so that any of its settings can be chosen; and what the
    platform says of the job wins over both.
    """
    rules, member = rules_of(crew.spec), crew.member(replica.role)
    told = variables(identity, crew.spec, job_type, rules.mode(crew.spec), member)
    return {**rules.environment(crew, replica), **member.work.env, **told}
