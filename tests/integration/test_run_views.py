"""What the service says of runs before, while and after they run."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from textwrap import dedent

import pytest
from google.protobuf import struct_pb2

from fixtures_pipelines import PipelineSite
from paddleflow.pipeline.v1 import pipeline_pb2, run_pb2
from paddleflow.problems import NodeNotFound, RunNotFound

HIT, MISS, UNKNOWN = (
    run_pb2.CACHE_PREDICTION_HIT,
    run_pb2.CACHE_PREDICTION_MISS,
    run_pb2.CACHE_PREDICTION_UNKNOWN,
)
SLICES = ("slices", "slices[1]", "slices[2]")
CAKE = dedent(
    """
    name: cake
    docker_env: img
    cache: {enable: true}
    parallelism: 2
    entry_points:
      taste: {approval: {users: [root], message: is it sweet?}}
      dough:
        command: "echo {{flour}} > {{dough}}"
        parameters: {flour: 300}
        artifacts: {output: [dough]}
      bake:
        deps: dough
        command: "cat {{dough}} > {{cake}}"
        artifacts: {input: {dough: "{{dough.dough}}"}, output: [cake]}
      slices: {deps: "taste,bake", command: "true", loop_argument: [1, 2, 3]}
    """
)


async def waits_for_approval(site: PipelineSite, run: str) -> None:
    """Lets all happen that can without anybody's approval."""
    deadline = time.monotonic() + 60
    while (states := await site.states(run)).get("bake") != "succeeded":
        assert time.monotonic() < deadline, states
        await asyncio.sleep(0.05)


async def explained(site: PipelineSite, run: str, path: str) -> run_pb2.ExplainNodeResponse:
    told: run_pb2.ExplainNodeResponse = await site.root(run_pb2.ExplainNodeRequest(run_id=run, path=path))
    return told


async def planned(site: PipelineSite, document: str, disk: str) -> run_pb2.PlanRunResponse:
    source = pipeline_pb2.Source(document=document, filesystem=disk)
    asked = run_pb2.PlanRunRequest(run=run_pb2.CreateRunRequest(source=source))
    told: run_pb2.PlanRunResponse = await site.root(asked)
    return told


async def test_all_that_is_said_of_runs(pipeline_site: PipelineSite, tmp_path: Path) -> None:
    site = pipeline_site
    disk = await site.filesystem(tmp_path / "disk")
    before = await planned(site, CAKE, disk)
    assert {each.node.path: each.prediction for each in before.nodes if each.prediction > 1} == {
        "dough": MISS,
        "bake": UNKNOWN,
        **dict.fromkeys(SLICES, MISS),
    }
    assert before.document.startswith("name: cake\n")

    run = await site.run(CAKE, filesystem=disk)
    await waits_for_approval(site, run.id)
    nodes = await site.nodes(run.id)
    assert list(nodes) == ["taste", "dough", "bake", "slices"]
    slices = nodes["slices"]
    assert (slices.waiting, list(slices.waiting_on)) == (run_pb2.WAITING_DEPENDENCIES, ["taste"])
    assert list((await explained(site, run.id, "slices")).reasons) == [
        "it waits for taste, which waits for an approval"
    ]
    assert list((await explained(site, run.id, "taste")).reasons) == [
        "it waits for the approval of root",
        "is it sweet?",
        f"`paddleflow run approve {run.id} taste` lets it go on",
    ]
    drawing = (await site.root(run_pb2.DrawRunRequest(run_id=run.id, form=pipeline_pb2.DRAWING_FORM_MERMAID))).drawing
    assert "succeeded" in drawing
    assert "for each of 3" in drawing
    await site.root(run_pb2.DecideApprovalRequest(run_id=run.id, path="taste", approve=True))
    await site.over(run.id)
    assert (await explained(site, run.id, "taste")).reasons[-1] == "root approved it"

    after = await planned(site, CAKE, disk)
    assert {each.node.path: each.prediction for each in after.nodes if each.prediction > 1} == {
        "dough": HIT,
        "bake": HIT,
        **dict.fromkeys(SLICES, HIT),
    }
    other = await site.run(CAKE, filesystem=disk, parameters={"flour": struct_pb2.Value(number_value=500)})
    await waits_for_approval(site, other.id)
    cache = (await explained(site, other.id, "dough")).cache
    assert (cache.hit, cache.nearest[:4]) == (False, "cch-")
    told = {each.what: (each.before, each.now) for each in cache.differences}
    assert told["parameters.flour"] == ("300", "500")
    await site.root(run_pb2.StopRunRequest(id=other.id))
    await site.over(other.id)
    with pytest.raises(NodeNotFound):
        await explained(site, other.id, "nobody")
    with pytest.raises(RunNotFound):
        await site.root(run_pb2.DrawRunRequest(run_id="run-nobody"))
