"""What becomes of the things of a plan in another system."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from paddleflow.problems import NotExportable, Violation
from pf_pipeline.pipelines.ports import Difference, Fidelity
from pf_pipeline.plans.domain import Kind, Plan, Planned, PlannedDag, PlannedStep

PLACES = ("PF_JOB_QUEUE_NAME", "PF_JOB_FLAVOUR", "PF_JOB_PRIORITY", "PF_JOB_TYPE", "PF_JOB_FRAMEWORK")
"""Variables that place the job of a step here, and say nothing elsewhere."""


@dataclass(slots=True)
class Report:
    """What is not exact, each thing once, and what cannot be at all."""

    differences: dict[tuple[str, str], Difference] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    """By path."""

    def emulated(self, path: str, message: str) -> None:
        self.differences.setdefault((path, message), Difference(path, Fidelity.EMULATED, message))

    def lost(self, path: str, message: str) -> None:
        self.differences.setdefault((path, message), Difference(path, Fidelity.LOST, message))

    def refuse(self, path: str, message: str) -> None:
        self.refused.setdefault(path, message)

    def settled(self, *, strict: bool) -> tuple[Difference, ...]:
        """All differences. Raises NotExportable if something cannot be, or, if strict, is not exact."""
        told = dict(self.refused)
        if strict:
            told |= {each.path: each.message for each in self.differences.values()}
        if told:
            violations = tuple(Violation(path, message) for path, message in list(told.items())[:10])
            message = "; ".join(f"{path}: {message}" for path, message in list(told.items())[:10])
            raise NotExportable(message, violations=violations)
        return tuple(self.differences.values())


def steps_of(plan: Plan) -> Iterator[tuple[str, PlannedStep]]:
    """All steps with their paths in the document."""
    for path, node in nodes_of(plan):
        if isinstance(node, PlannedStep):
            yield path, node


def nodes_of(plan: Plan) -> Iterator[tuple[str, Planned]]:
    """All steps and DAGs with their paths in the document."""
    yield from _below("entry_points", plan.entry_points)
    for step in last_steps(plan):
        yield f"{'post_process' if step.kind is Kind.POST_PROCESS else 'on_exit'}.{step.name}", step


def last_steps(plan: Plan) -> tuple[PlannedStep, ...]:
    """What runs when all else is over, in its order."""
    return (*((plan.post_process,) if plan.post_process else ()), *plan.on_exit)


def names_user(plan: Plan) -> bool:
    """Whether anything in a plan is about the user whose run it is."""
    return "PF_USER_NAME" in repr(plan)


def _below(path: str, nodes: Mapping[str, Planned]) -> Iterator[tuple[str, Planned]]:
    for name, node in nodes.items():
        yield f"{path}.{name}", node
        if isinstance(node, PlannedDag):
            yield from _below(f"{path}.{name}.entry_points", node.children)


def report_common(plan: Plan, report: Report) -> None:
    """What no other system has."""
    if plan.notify:
        report.lost("notify", "nobody is told when the run is over; let the other system do that")
    for path, step in steps_of(plan):
        if step.cache.enable:
            report.lost(f"{path}.cache", "results are not used again")
        if step.pending_timeout:
            report.lost(f"{path}.pending_timeout", "there is no limit to how long it waits for its place")
        if step.job:
            report.refuse(f"{path}.job", "a job of more than one process has no counterpart")
        for name in PLACES:
            if step.env.get(name):
                report.lost(
                    f"{path}.env.{name}", "decides nothing there; say where it runs in the words of that system"
                )
