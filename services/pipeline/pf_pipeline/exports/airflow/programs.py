"""Plans as programs that make a DAG of Airflow 3.

A program is the same for all plans, but for one literal, which holds what the plan says: so nothing that somebody wrote
can become a part of the program.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files
from pprint import pformat
from typing import Any

from pf_pipeline.documents.model import HandlerWhen, Retry, Strategy, Value
from pf_pipeline.documents.templates import replaced
from pf_pipeline.exports.report import PLACES, Report, last_steps, names_user, nodes_of
from pf_pipeline.plans.domain import Plan, Planned, PlannedDag, PlannedStep
from pf_pipeline.plans.paths import ground

PROGRAM = (files("pf_pipeline.exports.airflow") / "program.py.txt").read_text("utf-8")
MARK = "# --- PIPELINE ---"
MOST_MAPPED = 1024
"""Iterations that Airflow takes unless it is told otherwise."""
_CONDITION = re.compile(
    r"""(\s+|\d+\.?\d*|\.\d+|'[^'\\]*'|"[^"\\]*"|[A-Za-z_][A-Za-z0-9_]*|&&|\|\||[<>=!]=|[<>!()])*""", re.ASCII
)


def airflow_program(plan: Plan, report: Report) -> str:
    """The program."""
    _report(plan, report)
    return PROGRAM.replace(MARK, f"PIPELINE = {pformat(_pipeline(plan), width=110, sort_dicts=False)}")


def _pipeline(plan: Plan) -> dict[str, Any]:
    fail_fast = plan.strategy is Strategy.FAIL_FAST and not _may_skip(plan)
    return {
        "name": plan.name,
        "folder": ground(plan.main_fs, plan.main_fs.name.rpartition("/")[2]).mount_path if plan.main_fs else "",
        "parallelism": plan.parallelism,
        "fail_fast": fail_fast,
        "trigger_rule": "all_success" if fail_fast else "none_failed",
        "children": _children(plan.entry_points),
        "lasts": {f"{step.kind}--{step.name}": _node(step) for step in last_steps(plan)},
    }


def _may_skip(plan: Plan) -> bool:
    """Whether something may be skipped, or comes last: then Airflow refuses to stop at the first failure."""
    return bool(last_steps(plan)) or any(
        node.condition or node.disabled or node.loop is not None for _, node in nodes_of(plan)
    )


def _children(nodes: Mapping[str, Planned]) -> dict[str, Any]:
    return {name: _node(node) for name, node in nodes.items()}


def _node(node: Planned) -> dict[str, Any]:
    told = {
        "name": node.name,
        "deps": list(node.deps),
        "parameters": {name: _plain(value) for name, value in node.parameters.items()},
        "inputs": dict(node.inputs),
        "condition": node.condition,
        "loop": [_plain(item) for item in node.loop] if isinstance(node.loop, tuple) else node.loop,
        "disabled": node.disabled,
        "max_parallel": node.max_parallel,
    }
    if isinstance(node, PlannedDag):
        return {**told, "outputs": dict(node.outputs), "children": _children(node.children)}
    return {**told, **_step(node)}


def _step(step: PlannedStep) -> dict[str, Any]:
    retry = step.retry or Retry(0)
    return {
        "command": step.command,
        "env": {name: text for name, text in step.env.items() if name not in PLACES},
        "outputs": list(step.outputs),
        "results": {
            name: {"kind": str(result.kind), "default": None if result.default is None else _plain(result.default)}
            for name, result in step.results.items()
        },
        "retries": retry.limit,
        "retry_delay": retry.backoff.total_seconds(),
        "max_retry_delay": retry.max_backoff.total_seconds(),
        "not_on": list(retry.not_on),
        "timeout": step.timeout.total_seconds() if step.timeout else None,
        "pool": step.semaphores[0] if step.semaphores else "",
        "approval": _approval(step),
        "when": str(step.when),
    }


def _approval(step: PlannedStep) -> dict[str, Any] | None:
    if step.approval is None:
        return None
    timeout = step.approval.timeout
    return {"message": step.approval.message, "timeout": timeout.total_seconds() if timeout else None}


def _plain(value: Value) -> object:
    return [_plain(each) for each in value] if isinstance(value, tuple) else value


def _report(plan: Plan, report: Report) -> None:
    """What is not exact."""
    if names_user(plan):
        report.emulated("PF_USER_NAME", "is the parameter `user` of the DAG")
    if plan.main_fs:
        message = f"workers must see the files of {plan.main_fs.name}; PADDLEFLOW_FILES says where"
        report.emulated("fs_options.main_fs", message)
    if plan.strategy is Strategy.FAIL_FAST and _may_skip(plan):
        message = "after a failure all goes on that does not depend on it: Airflow cannot stop what may be skipped"
        report.lost("failure_options.strategy", message)
    for path, node in nodes_of(plan):
        _report_node(path, node, report)
        if isinstance(node, PlannedStep):
            _report_step(path, node, report)
    for path, dag in nodes_of(plan):
        if isinstance(dag, PlannedDag) and dag.loop is not None:
            _refuse_inner_loops(path, dag.children, report)


def _report_node(path: str, node: Planned, report: Report) -> None:
    if node.loop is not None:
        report.emulated(f"{path}.loop_argument", "of no items at all the task is skipped, and has not succeeded")
        if isinstance(node.loop, tuple) and len(node.loop) > MOST_MAPPED:
            message = f"raise core.max_map_length, or Airflow takes no more than {MOST_MAPPED} items"
            report.emulated(f"{path}.loop_argument", message)
    if node.condition:
        report.emulated(f"{path}.condition", "dates in quotes are compared as texts")
        if not _CONDITION.fullmatch(replaced(node.condition, lambda _: " ")):
            report.refuse(f"{path}.condition", "only comparisons, &&, ||, ! and brackets can be carried over")
    if isinstance(node, PlannedDag) and node.max_parallel:
        report.lost(f"{path}.max_parallel", "all iterations may run at once")


def _report_step(path: str, step: PlannedStep, report: Report) -> None:
    if step.docker_env:
        report.lost(f"{path}.docker_env", "the command runs where the worker runs, not in an image")
    for mount in step.extra_fs:
        report.lost(f"{path}.extra_fs", f"{mount.name} is not mounted; workers must have its files there themselves")
    if step.outputs or step.inputs:
        report.emulated(f"{path}.artifacts", "lie where they did, and are not listed")
    if step.results:
        report.emulated(f"{path}.results", "are kept as XComs")
    if step.retry and step.retry.limit:
        report.emulated(f"{path}.retry", "Airflow varies its waits by itself")
    if step.semaphores:
        report.emulated(f"{path}.semaphores", f"the pool {step.semaphores[0]!r} has to be made")
    for name in step.semaphores[1:]:
        report.lost(f"{path}.semaphores", f"a task takes one pool only; {name!r} is not taken")
    if step.approval:
        report.emulated(f"{path}.approval", "is a task of its own, for whoever may answer there")
    if step.when is not HandlerWhen.ALWAYS:
        report.emulated(f"{path}.when", "a task looks at the states of all others; if it need not run, it is skipped")


def _refuse_inner_loops(path: str, nodes: Mapping[str, Planned], report: Report) -> None:
    for name, node in nodes.items():
        where = f"{path}.entry_points.{name}"
        if node.loop is not None:
            report.refuse(f"{where}.loop_argument", "Airflow cannot repeat something inside of what is repeated")
        if isinstance(node, PlannedDag):
            _refuse_inner_loops(where, node.children, report)
