"""Runs through all services, with real processes and real files."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent

import pytest
from google.protobuf import json_format, struct_pb2

from fixtures_pipelines import PipelineSite
from paddleflow.pipeline.v1 import run_pb2
from paddleflow.problems import DocumentInvalid, RunNotFound, RunStateConflict

SUCCEEDED, FAILED, TERMINATED = (
    run_pb2.RUN_STATE_SUCCEEDED,
    run_pb2.RUN_STATE_FAILED,
    run_pb2.RUN_STATE_TERMINATED,
)


def document(body: str, name: str = "cake") -> str:
    return f"name: {name}\ndocker_env: img\n{dedent(body)}"


async def test_steps_run_in_their_order_and_hand_on_parameters(pipeline_site: PipelineSite) -> None:
    run = await pipeline_site.run(
        document("""
            entry_points:
              bake: {command: "test {{minutes}} = 30", deps: stir, parameters: {minutes: "{{stir.minutes}}"}}
              stir: {command: "echo {{minutes}} {{PF_RUN_ID}}", parameters: {minutes: 20}}
        """),
        parameters={"stir.minutes": value(30)},
    )
    assert (await pipeline_site.over(run.id)).state == SUCCEEDED
    nodes = await pipeline_site.nodes(run.id)
    assert [nodes["stir"].command, nodes["bake"].command] == [f"echo 30 {run.id}", "test 30 = 30"]
    assert nodes["stir"].finish_time.ToDatetime() <= nodes["bake"].start_time.ToDatetime()


async def test_artifacts_are_handed_on_as_files(pipeline_site: PipelineSite, tmp_path: Path) -> None:
    disk = await pipeline_site.filesystem(tmp_path / "disk")
    run = await pipeline_site.run(
        document("""
            entry_points:
              dough:
                command: "echo flour > {{dough}}"
                artifacts: {output: [dough]}
              slices:
                deps: dough
                command: "cat {{dough}} > $PF_OUTPUT_ARTIFACT_SLICE; echo $PF_LOOP_ARGUMENT >> {{slice}}"
                loop_argument: [1, 2, 3]
                artifacts: {input: {dough: "{{dough.dough}}"}, output: [slice]}
              plate:
                deps: slices
                command: "cat $(echo {{slices}} | tr , ' ') > {{plate}}"
                artifacts: {input: {slices: "{{slices.slice}}"}, output: [plate]}
        """),
        filesystem=disk,
    )
    assert (await pipeline_site.over(run.id)).state == SUCCEEDED
    plate = (await pipeline_site.nodes(run.id))["plate"].outputs["plate"]
    assert (tmp_path / "disk" / plate).read_text() == "flour\n1\nflour\n2\nflour\n3\n"
    assert plate.startswith(f".pipeline/{run.id}/cake/plate-0-")


async def test_loops_and_conditions_read_files(pipeline_site: PipelineSite, tmp_path: Path) -> None:
    disk = await pipeline_site.filesystem(tmp_path / "disk")
    run = await pipeline_site.run(
        document("""
            entry_points:
              list: {command: "echo '[5, 6]' > {{items}}; printf 7 > {{size}}", artifacts: {output: [items, size]}}
              each:
                deps: list
                command: "true"
                loop_argument: "{{items}}"
                condition: "{{PF_LOOP_ARGUMENT}} > 5"
                artifacts: {input: {items: "{{list.items}}"}}
              big: {deps: list, command: "true", condition: "{{size}} > 6", artifacts: {input: {size: "{{list.size}}"}}}
        """),
        filesystem=disk,
    )
    assert (await pipeline_site.over(run.id)).state == SUCCEEDED
    assert await pipeline_site.states(run.id) == {
        "list": "succeeded",
        "each": "skipped",
        "each[1]": "succeeded",
        "big": "succeeded",
    }


async def test_a_second_run_takes_its_results_from_the_first(pipeline_site: PipelineSite, tmp_path: Path) -> None:
    disk = await pipeline_site.filesystem(tmp_path / "disk")
    text = document("""
        cache: {enable: true}
        entry_points:
          dough: {command: "echo flour > {{dough}}", artifacts: {output: [dough]}}
          cake:
            deps: dough
            command: "cat {{dough}} > {{cake}}"
            artifacts: {input: {dough: "{{dough.dough}}"}, output: [cake]}
    """)
    first = await pipeline_site.run(text, filesystem=disk)
    assert (await pipeline_site.over(first.id)).steps.cached == 0
    second = await pipeline_site.run(text, filesystem=disk)
    over = await pipeline_site.over(second.id)
    assert (over.state, over.steps.cached, over.steps.succeeded) == (SUCCEEDED, 2, 2)
    nodes = await pipeline_site.nodes(second.id)
    assert {node.cache_run_id for node in nodes.values()} == {first.id}
    cake = tmp_path / "disk" / nodes["cake"].outputs["cake"]
    cake.write_text("eaten")
    third = await pipeline_site.run(text, filesystem=disk)
    assert (await pipeline_site.over(third.id)).steps.cached == 1


async def test_small_results_are_handed_on_with_their_type(pipeline_site: PipelineSite, tmp_path: Path) -> None:
    disk = await pipeline_site.filesystem(tmp_path / "disk")
    run = await pipeline_site.run(
        document("""
            entry_points:
              taste: {command: "echo 0.5 > $PF_RESULT_SCORE", results: {score: float, stars: {type: int, default: 3}}}
              judge:
                deps: taste
                command: "true"
                condition: "{{score}} < 0.6 && {{stars}} == 3"
                parameters: {score: "{{taste.score}}", stars: "{{taste.stars}}"}
        """),
        filesystem=disk,
    )
    assert (await pipeline_site.over(run.id)).state == SUCCEEDED
    assert (await pipeline_site.states(run.id))["judge"] == "succeeded"


async def test_small_results_of_a_loop_are_handed_on_as_a_list(pipeline_site: PipelineSite, tmp_path: Path) -> None:
    disk = await pipeline_site.filesystem(tmp_path / "disk")
    run = await pipeline_site.run(
        document("""
            entry_points:
              taste:
                loop_argument: [3, 1, 2]
                command: "echo {{PF_LOOP_ARGUMENT}} > $PF_RESULT_STARS"
                results: {stars: int}
              tell:
                deps: taste
                loop_argument: "{{all}}"
                command: "test '{{all}}' = '[3 1 2]' && test {{PF_LOOP_ARGUMENT}} -gt 0"
                parameters: {all: "{{taste.stars}}"}
        """),
        filesystem=disk,
    )
    assert (await pipeline_site.over(run.id)).state == SUCCEEDED, await pipeline_site.nodes(run.id)
    assert {"tell", "tell[1]", "tell[2]"} < set(await pipeline_site.nodes(run.id))


async def test_a_run_that_failed_is_tried_again_from_where_it_broke(
    pipeline_site: PipelineSite, tmp_path: Path
) -> None:
    disk = await pipeline_site.filesystem(tmp_path / "disk")
    run = await pipeline_site.run(
        document("""
            entry_points:
              kitchen:
                entry_points:
                  stir: {command: "echo x >> stirred"}
                  bake: {command: "test -e oven", deps: stir}
              eat: {command: "true", deps: kitchen}
            post_process: {wash: {command: "echo x >> washed"}}
        """),
        filesystem=disk,
    )
    over = await pipeline_site.over(run.id)
    assert (over.state, over.message) == (FAILED, "kitchen.bake failed")
    assert await pipeline_site.states(run.id) == {
        "kitchen": "failed",
        "kitchen.stir": "succeeded",
        "kitchen.bake": "failed",
        "eat": "cancelled",
        "post_process/wash": "succeeded",
    }
    (tmp_path / "disk" / "oven").touch()
    again = (await pipeline_site.root(run_pb2.RetryRunRequest(id=run.id))).run
    over = await pipeline_site.over(again.id)
    assert (over.state, over.retry_of) == (SUCCEEDED, run.id)
    begun = {path: node.start_time.ToDatetime() for path, node in (await pipeline_site.nodes(again.id)).items()}
    assert begun["kitchen.stir"] < over.create_time.ToDatetime() <= begun["kitchen"] <= begun["kitchen.bake"]
    assert ((tmp_path / "disk/stirred").read_text(), (tmp_path / "disk/washed").read_text()) == ("x\n", "x\nx\n")
    with pytest.raises(RunStateConflict):
        await pipeline_site.root(run_pb2.RetryRunRequest(id=again.id))


async def test_of_a_loop_runs_again_what_failed_whichever_iteration_it_was(
    pipeline_site: PipelineSite, tmp_path: Path
) -> None:
    disk = await pipeline_site.filesystem(tmp_path / "disk")
    run = await pipeline_site.run(
        document("""
            failure_options: {strategy: continue}
            entry_points:
              layers:
                loop_argument: [eggs, flour]
                command: "echo {{PF_LOOP_ARGUMENT}} >> done; test {{PF_LOOP_ARGUMENT}} = flour -o -e eggs"
              none: {loop_argument: [], command: "true"}
              sugar: {deps: none, command: "echo sugar >> done"}
              cake: {deps: layers, command: "echo cake >> done"}
        """),
        filesystem=disk,
    )
    assert (await pipeline_site.over(run.id)).state == FAILED
    (tmp_path / "disk" / "eggs").touch()
    again = (await pipeline_site.root(run_pb2.RetryRunRequest(id=run.id))).run
    assert (await pipeline_site.over(again.id)).state == SUCCEEDED
    assert sorted((tmp_path / "disk/done").read_text().split()) == ["cake", "eggs", "eggs", "flour", "sugar"]
    request = run_pb2.RetryRunRequest(id=again.id)
    getattr(request, "from").append("layers")
    whole = (await pipeline_site.root(request)).run
    assert (await pipeline_site.over(whole.id)).state == SUCCEEDED
    words = sorted((tmp_path / "disk/done").read_text().split())
    assert words == ["cake", "cake", "eggs", "eggs", "eggs", "flour", "flour", "sugar"]


async def test_a_stop_ends_what_runs_and_then_tidies_up(pipeline_site: PipelineSite) -> None:
    run = await pipeline_site.run(
        document("""
            entry_points: {sleep: {command: "sleep 100"}, wake: {command: "true", deps: sleep}}
            post_process: {tidy: {command: "true"}}
        """)
    )
    while (await pipeline_site.states(run.id)).get("sleep") != "running":
        pass
    await pipeline_site.root(run_pb2.StopRunRequest(id=run.id))
    over = await pipeline_site.over(run.id)
    assert (over.state, over.message) == (TERMINATED, "stopped by root")
    assert await pipeline_site.states(run.id) == {
        "sleep": "terminated",
        "wake": "cancelled",
        "post_process/tidy": "succeeded",
    }
    with pytest.raises(RunStateConflict):
        await pipeline_site.root(run_pb2.StopRunRequest(id=run.id))


async def test_a_step_is_tried_again_until_it_succeeds(pipeline_site: PipelineSite, tmp_path: Path) -> None:
    disk = await pipeline_site.filesystem(tmp_path / "disk")
    run = await pipeline_site.run(
        document("""
            entry_points:
              flaky: {command: "echo x >> tries; test $(wc -l < tries) = 3", retry: {limit: 2, backoff: 0.1s}}
              hopeless: {command: "exit 9", retry: {limit: 5, backoff: 0.1s, not_on: [9]}, deps: flaky}
        """),
        filesystem=disk,
    )
    assert (await pipeline_site.over(run.id)).state == FAILED
    nodes = await pipeline_site.nodes(run.id)
    assert (nodes["flaky"].attempt, nodes["hopeless"].attempt) == (3, 1)


async def test_all_that_is_wrong_with_a_document_is_told(pipeline_site: PipelineSite) -> None:
    with pytest.raises(DocumentInvalid) as caught:
        await pipeline_site.run(document("entry_points: {a: {comand: x, deps: b}}"))
    told = " ".join(f"{violation.field}: {violation.description}" for violation in caught.value.violations)
    assert "comand" in told
    assert "command" in told
    assert "line 3" in told


async def test_nobody_sees_the_runs_of_others(pipeline_site: PipelineSite) -> None:
    run = await pipeline_site.run(document("entry_points: {a: {command: x}}"), executor=run_pb2.EXECUTOR_NOTHING)
    with pytest.raises(RunNotFound):
        await pipeline_site.root(run_pb2.GetRunRequest(id=f"{run.id}0"))


def value(given: object) -> struct_pb2.Value:
    return json_format.Parse(json.dumps(given), struct_pb2.Value())
