"""What is told of runs before they are made."""

from __future__ import annotations

from textwrap import dedent

from paddleflow.pipeline.v1 import run_pb2
from paddleflow.problems import Unavailable
from pf_pipeline.documents.reading import read
from pf_pipeline.runs.domain import Executor
from support.rehearsals import Site

OFF, HIT, MISS, UNKNOWN = (
    run_pb2.CACHE_PREDICTION_OFF,
    run_pb2.CACHE_PREDICTION_HIT,
    run_pb2.CACHE_PREDICTION_MISS,
    run_pb2.CACHE_PREDICTION_UNKNOWN,
)
CHAIN = """
    name: chain
    docker_env: python:3.12
    cache: {enable: true}
    entry_points:
      prepare:
        command: make {{data}} for {{PF_USER_NAME}}
        parameters: {size: 3}
        results: {count: int}
        artifacts: {output: [data]}
      train:
        deps: prepare
        command: train {{data}} with {{rate}} of {{count}}
        parameters: {rate: 0.5, count: "{{prepare.count}}"}
        artifacts: {input: {data: "{{prepare.data}}"}, output: [model]}
    """


async def test_what_is_not_known_stays_as_it_is_written() -> None:
    nodes = await Site().nodes(CHAIN)
    prepare, train = nodes["prepare"].node, nodes["train"].node
    folder = ".pipeline/{{PF_RUN_ID}}/chain"
    assert prepare.outputs["data"].startswith(f"{folder}/prepare-0-")
    assert train.inputs["data"] == prepare.outputs["data"]
    assert train.command == (
        f"train /home/paddleflow/storage/mnt/fs/{train.inputs['data']} with 0.5 of {{{{prepare.count}}}}"
    )
    assert train.parameters["count"].string_value == "{{prepare.count}}"
    assert prepare.command.endswith("for ada")
    assert (prepare.attempt, prepare.job_id, prepare.HasField("start_time")) == (0, "", False)


async def test_the_cache_is_asked_as_far_as_steps_are_known() -> None:
    site = Site()
    nodes = await site.nodes(CHAIN)
    assert (nodes["prepare"].prediction, nodes["train"].prediction) == (MISS, UNKNOWN)
    assert nodes["train"].message == "cached if prepare writes the same as before"
    await site.remember("prepare", "run-1")
    nodes = await site.nodes(CHAIN)
    assert (nodes["prepare"].prediction, nodes["train"].prediction) == (HIT, MISS)
    assert nodes["prepare"].message == "as in run-1, prepare"
    assert nodes["train"].node.inputs["data"] == "run-1/data"
    assert nodes["train"].node.command.endswith("run-1/data with 0.5 of 7")
    await site.remember("train", "run-1")
    assert (await site.nodes(CHAIN))["train"].prediction == HIT
    site.files.write("run-1/model", "other by now")
    assert (await site.nodes(CHAIN))["train"].prediction == MISS
    site.files.write("run-1/model", "content")
    assert (await site.nodes(CHAIN))["train"].prediction == HIT


async def test_what_hinges_on_others_says_on_whom() -> None:
    nodes = await Site().nodes(
        """
        name: hinges
        docker_env: x
        cache: {enable: true}
        entry_points:
          split:
            command: s
            parameters: {p: "{{PF_LOOP_ARGUMENT}}"}
            artifacts: {output: [part]}
            loop_argument: [1, 2]
          inner:
            deps: split
            artifacts: {input: {parts: "{{split.part}}"}, output: {model: "{{train.model}}"}}
            entry_points:
              train: {command: t, artifacts: {input: {in: "{{PF_PARENT.parts}}"}, output: [model]}}
          score: {command: c, results: {n: int}}
          tell:
            deps: inner,score
            command: e
            parameters: {n: "{{score.n}}"}
            artifacts: {input: {m: "{{inner.model}}"}}
        """
    )
    assert nodes["inner.train"].message == "cached if split, split[1] write the same as before"
    assert nodes["tell"].message == (
        "cached if inner.train is cached or writes the same as before, and if score writes the same as before"
    )


async def test_how_steps_are_cached_is_told() -> None:
    nodes = await Site().nodes(CHAIN.replace("{enable: true}", "{enable: true, max_expired_time: 60}"))
    cache = nodes["train"].node.cache
    assert (cache.enable, cache.max_expired_time) == (True, 60)
    off = (await Site().nodes(CHAIN.replace("{enable: true}", "{enable: false}")))["train"].node.cache
    assert (off.enable, off.max_expired_time) == (False, -1)


async def test_why_the_cache_is_not_asked() -> None:
    nodes = await Site().nodes(CHAIN, fresh=("prepare",))
    assert (nodes["prepare"].prediction, nodes["prepare"].message) == (OFF, "the run is to do it afresh")
    nodes = await Site().nodes(CHAIN, executor=Executor.NOTHING)
    assert nodes["prepare"].message == "the run is not to run any command"
    assert nodes["train"].node.command.endswith("with 0.5 of 0")
    nodes = await Site().nodes(CHAIN.replace("enable: true", "enable: false"))
    assert nodes["train"].message == "`cache.enable` is not set for it"


async def test_who_cannot_be_asked_tells_nothing() -> None:
    site = Site()
    site.files.write("run-1/data", Unavailable("the service is not there"))
    nodes = await site.nodes(
        CHAIN.replace("command: make", "cache: {fs_scope: [{name: disk, path: run-1/data}]}\n        command: make")
    )
    told = nodes["prepare"]
    assert (told.prediction, told.message) == (
        UNKNOWN,
        "disk:run-1/data, which is in fs_scope, cannot be read: the service is not there",
    )


CHOICES = """
    name: choices
    docker_env: x
    entry_points:
      measure:
        command: measure
        results: {score: float, parts: list}
        artifacts: {output: [list]}
      good: {deps: measure, command: a, parameters: {s: "{{measure.score}}"}, condition: "{{s}} > 1"}
      off: {command: b, parameters: {n: 1}, condition: "{{n}} > 1"}
      each:
        deps: measure
        command: c {{PF_LOOP_ARGUMENT}}
        parameters: {p: "{{measure.parts}}"}
        loop_argument: "{{p}}"
      file: {deps: measure, command: d, artifacts: {input: {l: "{{measure.list}}"}}, loop_argument: "{{l}}"}
      typed: {deps: measure, command: e, parameters: {t: {type: int, default: 1}, u: "{{measure.score}}"}}
      wait: {approval: {users: [eve]}}
    """


async def test_what_depends_on_steps_is_taken_to_go_on() -> None:
    nodes = await Site().nodes(CHOICES)
    assert nodes["good"].node.message == "whether its condition holds is not known yet"
    assert nodes["good"].node.state == run_pb2.NODE_STATE_SUCCEEDED
    assert nodes["off"].node.state == run_pb2.NODE_STATE_SKIPPED
    assert nodes["off"].node.message == "the condition does not hold: 1 > 1"
    for name in ("each", "file"):
        assert nodes[name].node.message == "what it is repeated for is not known yet"
    assert nodes["each"].node.command == "c {{PF_LOOP_ARGUMENT}}"
    assert nodes["wait"].node.message == "it would wait for the approval of eve"


async def test_what_cannot_be_is_told() -> None:
    document = """
    name: wrong
    docker_env: x
    entry_points:
      a: {command: a, parameters: {l: "[1, 2"}, loop_argument: "{{l}}"}
      b: {deps: a, command: b}
    """
    nodes = await Site().nodes(document)
    assert nodes["a"].node.state == run_pb2.NODE_STATE_FAILED
    assert nodes["b"].node.state == run_pb2.NODE_STATE_CANCELLED
    assert nodes["b"].message == "a failed"


async def test_long_loops_are_told_in_part() -> None:
    items = list(range(5000))
    document = f"""
    name: long
    docker_env: x
    entry_points:
      a: {{command: "a {{{{PF_LOOP_ARGUMENT}}}}", loop_argument: {items}}}
      d:
        loop_argument: {items[:300]}
        entry_points:
          s: {{command: s, loop_argument: {items[:300]}}}
    """
    told = await Site().told(dedent(document))
    assert 1000 < len(told.nodes) <= 3000
    assert told.nodes[0].node.iterations == 5000
    assert sum(each.node.name == "a" for each in told.nodes) == 100
    assert told.left_out > 5000 - 100 + 300 - 100


async def test_the_document_is_told_as_it_would_run() -> None:
    document = (await Site().told(CHAIN, parameters={"train.rate": 0.25}, disabled=())).document
    assert "rate: 0.25" in document
    assert read(document).document.name == "chain"
