"""Documents, files and parameters that are meant to hurt: each fails with a word that says why, and others go on."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Mapping
from functools import partial
from pathlib import Path

import pytest
from google.protobuf import struct_pb2

from fixtures_pipelines import PipelineSite
from paddleflow.pipeline.v1 import pipeline_pb2, run_pb2
from paddleflow.problems import DocumentInvalid, DocumentUnreadable, InvalidArgument, Problem
from support.waiting import eventually

HEAD = "name: hostile\ndocker_env: i\n"
SUCCEEDED, FAILED = run_pb2.RUN_STATE_SUCCEEDED, run_pb2.RUN_STATE_FAILED
NOTHING = run_pb2.EXECUTOR_NOTHING


@pytest.fixture(autouse=True)
async def _others_go_on(pipeline_site: PipelineSite) -> AsyncIterator[None]:
    """A run that began before is there after, and the service answers."""
    plain = await pipeline_site.run(f"{HEAD}entry_points: {{a: {{command: sleep 1}}, b: {{command: 'true', deps: a}}}}")
    yield
    assert (await pipeline_site.over(plain.id)).state == SUCCEEDED


LONG = "x" * (4 * 2**20)
REFUSED: Mapping[str, str] = {
    "more than 4 MiB": f"{HEAD}entry_points: {{a: {{command: '{LONG}'}}}}",
    "deep lists": f"{HEAD}entry_points: {{a: {{command: x, loop_argument: {'[' * 5_000}{']' * 5_000}}}}}",
    "deep DAGs": HEAD + "entry_points: " + "{d: {entry_points: " * 500 + "{a: {command: x}}" + "}}" * 500,
    "a billion laughs": f"a: &a [x, x]\nb: &b [*a, *a]\n{HEAD}entry_points: {{a: {{command: x}}}}",
    "NUL": f'{HEAD}entry_points: {{a: {{command: "x\\0"}}}}',
    "no text": "\ufffe\x01",
    "a path that leads out": HEAD + "entry_points: {a: {command: x, deps: '../b'}}",
}


@pytest.mark.parametrize("name", REFUSED)
async def test_a_document_that_cannot_be_is_refused(pipeline_site: PipelineSite, name: str) -> None:
    with pytest.raises(Problem) as caught:
        await pipeline_site.run(REFUSED[name], executor=NOTHING)
    # The channel itself refuses what is longer than a message may be.
    assert isinstance(caught.value, (DocumentInvalid, InvalidArgument)) or "4 MiB" in str(caught.value)
    assert len(str(caught.value)) < 20_000


@pytest.mark.parametrize(
    "value",
    [
        struct_pb2.Value(string_value="a\0"),
        struct_pb2.Value(list_value=struct_pb2.ListValue(values=[struct_pb2.Value(string_value="\0")])),
    ],
)
async def test_a_parameter_with_nul_is_refused(pipeline_site: PipelineSite, value: struct_pb2.Value) -> None:
    text = f"{HEAD}entry_points: {{a: {{command: 'echo {{{{p}}}}', parameters: {{p: x}}}}}}"
    with pytest.raises(InvalidArgument, match="NUL"):
        await pipeline_site.run(text, parameters={"p": value}, executor=NOTHING)


async def test_a_parameter_of_a_megabyte_is_handed_on(pipeline_site: PipelineSite) -> None:
    text = f"{HEAD}entry_points: {{a: {{command: 'echo {{{{p}}}}', parameters: {{p: {{type: string, default: s}}}}}}}}"
    given = {"p": struct_pb2.Value(string_value="y" * 1_000_000)}
    run = await pipeline_site.run(text, parameters=given, executor=NOTHING)
    assert (await pipeline_site.over(run.id)).state == SUCCEEDED
    node = (await pipeline_site.nodes(run.id))["a"]
    assert len(node.command) > 1_000_000


async def test_templates_that_grow_fail_their_step(pipeline_site: PipelineSite) -> None:
    ten = "{{%s}}" * 10
    steps = "".join(
        f"  s{n}: {{command: x, {f'deps: s{n - 1}, ' if n else ''}parameters: {{p: '"
        f"{(ten.replace('%s', f's{n - 1}.p')) if n else 'x' * 1000}'}}}}\n"
        for n in range(6)
    )
    try:
        run = await pipeline_site.run(f"{HEAD}entry_points:\n{steps}", executor=NOTHING)
    except DocumentInvalid as problem:
        assert "MiB" in str(problem) or "long" in str(problem)  # noqa: PT017 - both are well
        return
    over = await pipeline_site.over(run.id)
    assert over.state == FAILED
    assert any("MiB" in node.message for node in (await pipeline_site.nodes(run.id)).values())


async def test_a_loop_of_a_hundred_thousand_items_goes_by(pipeline_site: PipelineSite) -> None:
    items = ",".join(map(str, range(100_000)))
    begun = time.monotonic()
    run = await pipeline_site.run(
        f"{HEAD}parallelism: 100\nentry_points: {{a: {{command: x, loop_argument: [{items}]}}}}", executor=NOTHING
    )
    await eventually(lambda: has_begun(pipeline_site, run.id), 60.0)
    await pipeline_site.root(run_pb2.StopRunRequest(id=run.id, force=True))
    over = await pipeline_site.over(run.id)
    assert over.state == run_pb2.RUN_STATE_TERMINATED, time.monotonic() - begun
    await pipeline_site.root(run_pb2.DeleteRunRequest(id=run.id))


SLEEPS = "entry_points: {{a: {{command: sleep 60, loop_argument: {items}}}}}\n"
ASKS = "entry_points: {{a: {{command: x, approval: {{message: go on}}, loop_argument: {items}}}}}\n"


@pytest.mark.parametrize(("text", "steps"), [(SLEEPS, 150), (ASKS, 5000)], ids=["sleeps", "asks"])
async def test_wide_runs_that_are_stopped_at_once_end_as_stopped_and_cost_nobody_its_lease(
    pipeline_site: PipelineSite, text: str, steps: int
) -> None:
    document = f"{HEAD}parallelism: {steps}\n{text.format(items=list(range(steps)))}"
    before = len(pipeline_site.process.log)
    runs = await asyncio.gather(*(pipeline_site.run(document) for _ in range(4)))
    for run in runs:
        await eventually(partial(is_under_way, pipeline_site, run.id, steps), 60.0)
    await asyncio.gather(*(pipeline_site.root(run_pb2.StopRunRequest(id=run.id, force=True)) for run in runs))
    for run in runs:
        over = await pipeline_site.over(run.id)
        assert over.state == run_pb2.RUN_STATE_TERMINATED, over
        assert over.steps.cancelled == steps
    assert "no longer leading" not in pipeline_site.process.log[before:]


async def is_under_way(site: PipelineSite, id_: str, steps: int) -> bool:
    counts = (await site.root(run_pb2.GetRunRequest(id=id_))).run.steps
    return bool(counts.waiting + counts.running == steps)


async def has_begun(site: PipelineSite, id_: str) -> bool:
    return bool((await site.root(run_pb2.GetRunRequest(id=id_))).run.steps.succeeded)


@pytest.mark.parametrize("path", ["../run.yaml", "a/../../run.yaml", "/etc/passwd", "linked.yaml", "pipe", "folder"])
async def test_a_document_is_read_from_its_filesystem_only(
    pipeline_site: PipelineSite, tmp_path: Path, path: str
) -> None:
    disk = await pipeline_site.filesystem(tmp_path / "disk")
    (tmp_path / "run.yaml").write_text(f"{HEAD}entry_points: {{a: {{command: x}}}}")
    (tmp_path / "disk/linked.yaml").symlink_to(tmp_path / "run.yaml")
    os.mkfifo(tmp_path / "disk/pipe")
    (tmp_path / "disk/folder").mkdir()
    source = pipeline_pb2.Source(path=path, filesystem=disk)
    for request in (
        run_pb2.CreateRunRequest(source=source),
        pipeline_pb2.CreatePipelineRequest(source=source),
        pipeline_pb2.ValidateDocumentRequest(source=source),
    ):
        with pytest.raises((DocumentUnreadable, InvalidArgument)) as caught:
            await pipeline_site.root(request)
        assert str(caught.value)


UNUSABLE: Mapping[str, tuple[str, str]] = {
    "out of the filesystem": ("ln -sfn /etc/passwd {{o}}", "o"),
    "a FIFO": ("mkfifo {{o}}", "o"),
    "a folder": ("mkdir {{o}}", "o"),
    "nothing": ("true", "o"),
    "too large": ("head -c 1048576 /dev/zero | tr '\\\\0' 1 > {{o}}", "bytes"),
    "no list": ("echo '{1: 2' > {{o}}", "list"),
    "no text": ("head -c 100 /dev/urandom > {{o}}; printf '\\\\377' >> {{o}}", "o"),
}


LOOP, CONDITION = "loop_argument: '{{i}}'", "condition: '{{i}} == 1'"
CASES = [(name, use) for name in UNUSABLE for use in (LOOP, CONDITION) if (name, use) != ("no list", CONDITION)]
"""A condition reads any text."""


@pytest.mark.parametrize(("name", "use"), CASES)
async def test_an_artifact_that_cannot_be_read_fails_who_reads_it(
    pipeline_site: PipelineSite, tmp_path: Path, name: str, use: str
) -> None:
    command, word = UNUSABLE[name]
    disk = await pipeline_site.filesystem(tmp_path / "disk")
    run = await pipeline_site.run(
        f"""{HEAD}entry_points:
  w: {{command: "{command}", artifacts: {{output: [o]}}}}
  r: {{command: "true", deps: w, {use}, artifacts: {{input: {{i: "{{{{w.o}}}}"}}}}}}
""",
        filesystem=disk,
    )
    over = await pipeline_site.over(run.id)
    nodes = await pipeline_site.nodes(run.id)
    assert over.state == FAILED, (over, nodes)
    # Whoever wrote nothing may have failed already.
    told = " ".join(node.message for node in nodes.values())
    assert word in told, told
    assert "root:" not in told


@pytest.mark.parametrize(
    ("size", "letter", "state", "word"),
    [(1024, "a", FAILED, "1024 bytes"), (1023, "a", SUCCEEDED, ""), (1023, "1", FAILED, "too large for a number")],
)
async def test_an_artifact_in_a_condition_has_less_than_a_kibibyte(
    pipeline_site: PipelineSite, tmp_path: Path, size: int, letter: str, state: int, word: str
) -> None:
    disk = await pipeline_site.filesystem(tmp_path / "disk")
    run = await pipeline_site.run(
        f"""{HEAD}entry_points:
  w: {{command: "head -c {size} /dev/zero | tr '\\\\0' {letter} > {{{{o}}}}", artifacts: {{output: [o]}}}}
  r: {{command: "true", deps: w, condition: "{{{{i}}}} != x", artifacts: {{input: {{i: "{{{{w.o}}}}"}}}}}}
""",
        filesystem=disk,
    )
    assert (await pipeline_site.over(run.id)).state == state
    assert word in (await pipeline_site.nodes(run.id))["r"].message
