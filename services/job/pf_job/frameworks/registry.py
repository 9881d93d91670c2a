"""All frameworks, and what they have to say of a job and of its replicas."""

from __future__ import annotations

from collections.abc import Mapping

from pf_job.frameworks import mpi, mxnet, paddle, pytorch, ray, spark, standalone, tensorflow
from pf_job.frameworks.rules import Crew, Replica, Rules
from pf_job.specs.domain import Framework, JobSpec, JobType
from pf_job.specs.magic import Identity, variables

RULES: Mapping[Framework, Rules] = {
    module.RULES.framework: module.RULES for module in (standalone, paddle, pytorch, tensorflow, mpi, mxnet, ray, spark)
}


def rules_of(spec: JobSpec) -> Rules:
    """The rules of what a job is made with."""
    return RULES[spec.framework if spec.members and spec.framework else Framework.STANDALONE]


def environment(crew: Crew, replica: Replica, identity: Identity, job_type: JobType) -> dict[str, str]:
    """All variables of a replica but the secret ones.

    What the user gives wins over what the framework says, so that any of its settings can be chosen; and what the
    platform says of the job wins over both.
    """
    rules, member = rules_of(crew.spec), crew.member(replica.role)
    told = variables(identity, crew.spec, job_type, rules.mode(crew.spec), member)
    return {**rules.environment(crew, replica), **member.work.env, **told}
