"""Runs whose main filesystem is a bucket: their artifacts, and results that are used again."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from fixtures_pipelines import PipelineSite, opened_pipelines, own_pipelines
from paddleflow.fs.v1 import fs_pb2
from paddleflow.pipeline.v1 import pipeline_pb2, run_pb2, schedule_pb2
from paddleflow.problems import FilesystemMounted
from pf_backends.opening import Surroundings, open_backend
from pf_backends.port import Backend
from pf_backends.reach import ANYWHERE
from support import fuse_mounts
from support.pipeline_process import PipelineProcess
from support.s3_servers import S3Server
from support.servers import PostgresServer, ValkeyServer

pytestmark = pytest.mark.skipif(bool(fuse_mounts.missing()), reason=fuse_mounts.missing())
LIMIT = 1 << 20
DOCUMENT = """
name: words
docker_env: none
cache: {{enable: true}}
fs_options: {{main_fs: {{name: {filesystem}}}}}
entry_points:
  prepare:
    command: sh code/prepare.sh {{{{data}}}}
    artifacts: {{output: [data]}}
    cache: {{fs_scope: [{{name: {filesystem}, path: code/prepare.sh}}]}}
  count:
    deps: prepare
    command: mkdir {{{{found}}}} && wc -w < {{{{data}}}} > {{{{found}}}}/words && echo '[5, 6]' > {{{{items}}}}
    artifacts:
      input: {{data: "{{{{prepare.data}}}}"}}
      output: [found, items]
  each:
    deps: count
    command: echo {{{{PF_LOOP_ARGUMENT}}}}
    loop_argument: "{{{{items}}}}"
    artifacts: {{input: {{items: "{{{{count.items}}}}"}}}}
    cache: {{enable: false}}
"""


@pytest.fixture(scope="module")
def process(postgres_server: PostgresServer, valkey_server: ValkeyServer) -> Iterator[PipelineProcess]:
    with own_pipelines(postgres_server, valkey_server, real=True) as made:
        fs = made.jobs.fs
        fs.settings = {**fs.settings, "PF_FS_PIPELINE": made.address}
        fs.stop()
        fs.start()
        yield made


@pytest.fixture
async def site(process: PipelineProcess) -> AsyncIterator[PipelineSite]:
    async with opened_pipelines(process) as opened:
        yield opened


@pytest.fixture
def bucket(site: PipelineSite, seaweed_server: S3Server) -> Iterator[Backend]:
    backend = open_backend(f"s3://tests/{site.tag}", seaweed_server.properties, Surroundings(reach=ANYWHERE))
    yield backend
    backend.close()


async def ran(site: PipelineSite, filesystem: str) -> run_pb2.Run:
    """A run of the document that lies in the filesystem, once it is over."""
    source = pipeline_pb2.Source(path="run.yaml", filesystem=filesystem)
    made = (await site.root(run_pb2.CreateRunRequest(source=source))).run
    over = await site.over(made.id)
    assert over.state == run_pb2.RUN_STATE_SUCCEEDED, (over, await site.nodes(made.id))
    return over


async def test_results_of_a_run_on_a_bucket_are_used_again(
    site: PipelineSite, seaweed_server: S3Server, bucket: Backend
) -> None:
    name = f"ppl{site.tag}"
    draft = fs_pb2.Filesystem(name=name, url=f"s3://tests/{site.tag}", properties=seaweed_server.properties)
    await site.filesystems(fs_pb2.CreateFilesystemRequest(filesystem=draft))
    bucket.put("run.yaml", DOCUMENT.format(filesystem=name).encode())
    bucket.put("code/prepare.sh", b"echo one two three > $1")
    first = await ran(site, name)
    assert (first.steps.cached, first.steps.succeeded) == (0, 4)
    nodes = await site.nodes(first.id)
    assert bucket.fetch(f"{nodes['count'].outputs['found']}/words", limit=LIMIT)[1] == b"3\n"

    assert (await ran(site, name)).steps.cached == 2

    bucket.put("code/prepare.sh", b"echo one two three  > $1")
    assert (await ran(site, name)).steps.cached == 1, "other words make the same data"

    bucket.put("code/prepare.sh", b"echo one two > $1")
    last = await ran(site, name)
    assert last.steps.cached == 0

    bucket.remove(f"{(await site.nodes(last.id))['count'].outputs['found']}/words")
    again = await ran(site, name)
    assert again.steps.cached == 1
    nodes = await site.nodes(again.id)
    assert nodes["count"].cache_run_id == "", "what is gone is made anew"
    assert bucket.fetch(f"{nodes['count'].outputs['found']}/words", limit=LIMIT)[1] == b"2\n"


async def test_a_filesystem_is_not_deleted_while_runs_or_schedules_have_it(site: PipelineSite, tmp_path: Path) -> None:
    name = await site.filesystem(tmp_path / "disk")
    key = fs_pb2.FilesystemKey(owner="root", name=name)
    delete = fs_pb2.DeleteFilesystemRequest(filesystem=key)
    document = f"""
        name: long{site.tag}
        docker_env: none
        fs_options: {{main_fs: {{name: {name}}}}}
        entry_points: {{wait: {{command: sleep 1000}}}}
    """
    run = await site.run(document)
    with pytest.raises(FilesystemMounted, match=rf"run {run.id} \(root\)"):
        await site.filesystems(delete)
    await site.root(run_pb2.StopRunRequest(id=run.id, force=True))
    await site.over(run.id)

    source = pipeline_pb2.Source(document=document)
    pipeline = (await site.root(pipeline_pb2.CreatePipelineRequest(source=source))).pipeline.id
    yearly = schedule_pb2.Schedule(
        name=f"yearly{site.tag}", pipeline_id=pipeline, pipeline_version=1, crontab="0 0 1 1 *"
    )
    schedule = (await site.root(schedule_pb2.CreateScheduleRequest(schedule=yearly))).schedule.id
    with pytest.raises(FilesystemMounted, match=rf"is used by schedule {schedule} \(root\)"):
        await site.filesystems(delete)
    await site.root(schedule_pb2.StopScheduleRequest(id=schedule))
    await site.filesystems(delete)
