"""What the cache is asked about a step: the same in each run, wherever its artifacts lie."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from pf_pipeline.artifacts.keys import step_key
from pf_pipeline.documents.model import Cache, Mount, Scope
from pf_pipeline.engine.core.happening import Judge
from pf_pipeline.engine.questions import question_of
from pf_pipeline.plans.domain import Plan, PlannedStep
from pf_pipeline.plans.paths import component
from pf_pipeline.runs.domain import Node, NodeWork, Order, Run, RunLife

STEP = PlannedStep(
    name="train",
    command="train --epoch {{epoch}} --loud {{loud}} {{data}} {{model}}",
    parameters={"epoch": 5, "loud": 1},
    inputs={"data": "{{prepare.data}}"},
    outputs=("model",),
    cache=Cache(enable=True, ignore=("loud",), fs_scope=(Scope("ppl", "a, /b/"), Scope("code"))),
    job={"framework": "paddle", "members": [{"role": "worker", "command": "sh {{model}} {{data}} {{loud}}"}]},
)
PLAN = Plan(name="cake", entry_points={"train": STEP}, main_fs=Mount("ppl"))


def asked(run: str, step: PlannedStep = STEP, **more: Any) -> Any:
    order = Order(
        name="cake", filesystem="ppl", filesystem_id="fs-ada-ppl", mounts={"ppl": "fs-ada-ppl", "code": "fs-ada-code"}
    )
    made = Run(id=run, owner="ada", order=order, life=RunLife(create_time=datetime(2030, 1, 1, tzinfo=UTC)))
    given = {
        "parameters": {"epoch": 5, "loud": 1},
        "inputs": {"data": f".pipeline/{run}/cake/prepare-0-x/data"},
        "outputs": {"model": f".pipeline/{run}/cake/train-0-x/model"},
    }
    node = Node(run=run, path="train", name="train", work=NodeWork(**{**given, **more}))
    return question_of(made, PLAN, Judge(node, step, "cake.entry_points.train"))


def test_the_same_step_of_two_runs_is_the_same() -> None:
    first, second = asked("run-000001"), asked("run-000002")
    assert step_key(first.parts) == step_key(second.parts)
    assert first.parts.command == "train --epoch 5 --loud {{loud}} {{data}} {{model}}"
    assert "run-000001" not in str(first.parts)
    assert first.inputs == {"data": (".pipeline/run-000001/cake/prepare-0-x/data",)}


@pytest.mark.parametrize(("parameters", "same"), [({"epoch": 5, "loud": 2}, True), ({"epoch": 6, "loud": 1}, False)])
def test_what_is_ignored_decides_nothing(parameters: dict[str, int], *, same: bool) -> None:
    other = asked("run-000002", parameters=parameters)
    assert (step_key(other.parts) == step_key(asked("run-000001").parts)) is same


def test_another_command_of_a_member_is_another_step() -> None:
    job = {"framework": "paddle", "members": [{"role": "worker", "command": "sh -x {{model}}"}]}
    other = asked("run-000001", replace(STEP, job=job))
    assert step_key(other.parts) != step_key(asked("run-000001").parts)


def test_files_in_scope_are_looked_for_where_they_lie() -> None:
    scope = {place: (spot.ask.filesystem_id, spot.path) for place, spot in asked("run-000001").scope.items()}
    assert scope == {
        "ppl:a": ("fs-ada-ppl", "a"),
        "ppl:/b/": ("fs-ada-ppl", "b"),
        "code:/": ("fs-ada-code", ""),
    }


def test_iterations_are_of_one_component() -> None:
    assert component("process[2].split[10].cut") == "process.split.cut"
