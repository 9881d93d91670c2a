"""Plans as Workflows of Argo Workflows 3.7."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from paddleflow.documents.writing import to_yaml
from pf_pipeline.documents.model import HandlerWhen, Mount, Strategy
from pf_pipeline.exports.argo.dags import Templates
from pf_pipeline.exports.argo.names import dns_name
from pf_pipeline.exports.argo.places import top
from pf_pipeline.exports.argo.steps import claim_of
from pf_pipeline.exports.argo.texts import Siblings
from pf_pipeline.exports.report import Report, last_steps, names_user, nodes_of, steps_of
from pf_pipeline.plans.domain import Plan, PlannedStep

MAIN = "main"
END = "at-the-end"
CONDITIONS = {
    HandlerWhen.SUCCEEDED: "{{workflow.status}} == Succeeded",
    HandlerWhen.FAILED: "{{workflow.status}} != Succeeded",
}


def argo_workflow(plan: Plan, report: Report) -> str:
    """The Workflow, as YAML."""
    _report(plan, report)
    templates = Templates(plan, report)
    templates.level(MAIN, "entry_points", plan.entry_points, top(plan), ())
    last = last_steps(plan)
    if last:
        _end(templates, last)
    spec: dict[str, Any] = {
        "entrypoint": MAIN,
        **({"onExit": END} if last else {}),
        "parallelism": plan.parallelism,
        "arguments": {"parameters": [{"name": "pf-user", "value": "paddleflow"}]},
        **_volumes(plan),
        "templates": list(templates.made.values()),
    }
    metadata = {"generateName": f"{dns_name(plan.name)}-"}
    return to_yaml({"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "metadata": metadata, "spec": spec})


def _report(plan: Plan, report: Report) -> None:
    """What is not exact about the whole."""
    if plan.strategy is Strategy.FAIL_FAST:
        message = "nothing new begins after a failure, but what runs goes on to its end"
        report.emulated("failure_options.strategy", message)
    if names_user(plan):
        report.emulated("PF_USER_NAME", "is the workflow's parameter pf-user")
    for path, node in nodes_of(plan):
        if isinstance(node, PlannedStep) and node.outputs:
            report.emulated(f"{path}.artifacts.output", "lies in a folder of another name, and is not listed")
        if node.loop is not None:
            report.emulated(f"{path}.loop_argument", "items are texts")


def _end(templates: Templates, last: tuple[PlannedStep, ...]) -> None:
    """What runs at the end: the step of post_process, then all handlers at once."""
    tasks: list[dict[str, Any]] = []
    folder = top(templates.plan)
    for step in last:
        path = f"{step.kind}.{step.name}"
        values = [{"name": name, "value": _value(templates, step, name, path)} for name in step.parameters]
        if templates.plan.main_fs:
            values.append({"name": "pf-at", "value": f"{folder.text}/{step.name}-0"})
        task: dict[str, Any] = {
            "name": step.name.rstrip("-"),
            "template": templates.node(END, path, step),
            "arguments": {"parameters": values},
        }
        if step.when in CONDITIONS:
            task["when"] = CONDITIONS[step.when]
        tasks.append(task)
    templates.made[END] = {"name": END, "dag": {"tasks": tasks, "failFast": False}}


def _value(templates: Templates, step: PlannedStep, name: str, path: str) -> str:
    return Siblings({step.name: step}, {}, path, templates.report).value(step.name, name, "")


def _volumes(plan: Plan) -> dict[str, Any]:
    mounts = [*([plan.main_fs] if plan.main_fs else []), *_extra(plan)]
    claims = dict.fromkeys(claim_of(mount) for mount in mounts)
    if not claims:
        return {}
    return {"volumes": [{"name": claim, "persistentVolumeClaim": {"claimName": claim}} for claim in claims]}


def _extra(plan: Plan) -> Iterable[Mount]:
    return (mount for _, step in steps_of(plan) for mount in step.extra_fs)
