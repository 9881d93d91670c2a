"""All that is wrong with a job, what it is made with included."""

from __future__ import annotations

from collections.abc import Iterator

from paddleflow.problems import Violation
from pf_job.frameworks.registry import RULES
from pf_job.frameworks.rules import RoleRule, Rules
from pf_job.frameworks.spark import MAIN_FILE
from pf_job.specs import check, magic
from pf_job.specs.defaults import joined
from pf_job.specs.domain import Framework, JobSpec, JobType, Member, Role, Work

KINDS = {
    Framework.STANDALONE: "Pod",
    Framework.PADDLE: "PaddleJob",
    Framework.PYTORCH: "PyTorchJob",
    Framework.TENSORFLOW: "TFJob",
    Framework.MPI: "MPIJob",
    Framework.MXNET: "MXJob",
    Framework.RAY: "RayJob",
    Framework.SPARK: "SparkApplication",
}
"""What the operators of each framework call a job."""
VOLCANO = "Job"
"""Volcano's job holds any of them."""
WORKFLOW = "Workflow"


def violations(spec: JobSpec, job_type: JobType) -> Iterator[Violation]:
    """What is wrong with a spec as it was written, each with its path in the document."""
    yield from check.violations(spec, job_type)
    yield from _template(spec, job_type)
    if job_type is JobType.SINGLE:
        yield from _startable("", spec.work)
    if job_type is JobType.DISTRIBUTED and spec.framework and 0 < len(spec.members) <= check.MOST_MEMBERS:
        yield from _made_with(spec, RULES[spec.framework])


def _made_with(spec: JobSpec, rules: Rules) -> Iterator[Violation]:
    strange = False
    for at, member in enumerate(spec.members):
        rule = rules.role(member.role)
        if rule is None:
            strange = True
            yield Violation(f"members[{at}].role", f"of {rules.framework} must be one of {_words(rules)}")
        else:
            yield from _member(f"members[{at}].", spec, member, rule)
    if not strange:
        yield from rules.check(spec)
    yield from _mode(spec, rules)


def _member(place: str, spec: JobSpec, member: Member, rule: RoleRule) -> Iterator[Violation]:
    job, framework = spec.work, spec.framework
    if rule.most is not None and member.replicas > rule.most:
        yield Violation(f"{place}replicas", f"there can be only {rule.most} {rule.role}")
    if member.elastic and not rule.elastic and member.replicas <= (rule.most or member.replicas):
        reason = f"replicas of a {rule.role} cannot come and go while a {framework} job runs: leave it out"
        yield Violation(f"{place}maxReplicas", reason)
    work = joined(job, member.work)
    if work.port + len(rule.ports) - 1 > check.LAST_PORT:
        yield Violation(f"{place}port", f"a {rule.role} needs {len(rule.ports)} ports, from this one on")
    if not rule.self_starting or (rule.role is Role.DRIVER and not work.env.get(MAIN_FILE)):
        yield from _startable(place, work, job.extension_template is not None)


def _startable(place: str, work: Work, described: bool = False) -> Iterator[Violation]:
    if not (work.command or work.args or work.image or work.extension_template or described):
        yield Violation(f"{place}command", "nothing is said that could be run: give a command, args or an image")


def _mode(spec: JobSpec, rules: Rules) -> Iterator[Violation]:
    told, mode = spec.work.env.get(magic.MODE, ""), rules.mode(spec)
    if told and mode and told.lower() != mode.lower():
        yield Violation(f"env.{magic.MODE}", f"the members make it {mode}")


def _template(spec: JobSpec, job_type: JobType) -> Iterator[Violation]:
    kind = (spec.work.extension_template or {}).get("kind")
    kinds = {KINDS[spec.framework or Framework.STANDALONE], VOLCANO}
    known = {WORKFLOW} if job_type is JobType.WORKFLOW else kinds
    if isinstance(kind, str) and kind and kind not in known:
        yield Violation("extensionTemplate.kind", f"must be {' or '.join(sorted(known))}")


def _words(rules: Rules) -> str:
    return ", ".join(rule.role for rule in rules.roles)
