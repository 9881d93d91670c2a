"""Nobody is stopped by what makes no sense: workloads whose rows are spoilt are set aside, and all others go on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import asyncpg
import pytest

from fixtures_queue import own_service
from paddleflow.problems import QueueNotEmpty, WorkloadStateConflict
from paddleflow.queue.v1 import admission_pb2, queue_pb2, workload_pb2
from support.admission_site import ADMITTED, FINISHED, PENDING, RELEASED, AdmissionSite, watching
from support.queue_process import QueueProcess
from support.queue_site import QueueSite, opened_site
from support.servers import PostgresServer, ValkeyServer

ASIDE = workload_pb2.WORKLOAD_STATE_SET_ASIDE
SPOILT = {
    "gap": "standing = '[]'",
    "roles": "spec = jsonb_set(spec, '{roles}', '[]')",
    "more": "standing = jsonb_set(standing, '{12}', '[0, 0]')",
    "words": "spec = jsonb_set(spec, '{roles,0,4,cpu}', to_jsonb('many'::text))",
    "huge": "spec = jsonb_set(spec, '{roles,0,4,cpu}', '1e30')",
    "step": "spec = jsonb_set(spec, '{roles,0,3}', 'null')",
    "name": "spec = jsonb_set(spec, '{roles,0,0}', '7')",
    "other": "spec = jsonb_set(spec, '{key}', to_jsonb('x/1'::text))",
    "null": "spec = 'null'",
    "over": "standing = jsonb_set(standing, '{0}', to_jsonb('released'::text))",
    "late": "standing = jsonb_set(standing, '{2}', to_jsonb('noon'::text))",
    "lost": "queue = 'gone', spec = jsonb_set(spec, '{queue}', to_jsonb('gone'::text))",
}
"""By the word in the name of a workload, what is done to its row."""


@pytest.fixture
def process(postgres_server: PostgresServer, valkey_server: ValkeyServer) -> Iterator[QueueProcess]:
    with own_service(postgres_server, valkey_server) as process:
        yield process


@pytest.fixture
async def jobs(process: QueueProcess) -> AsyncIterator[AdmissionSite]:
    """Workloads that were spoilt while nobody looked, beside one that runs and one that waits."""
    async with opened_site(process) as site:
        jobs = AdmissionSite(site)
        await jobs.prepare("q", "full", "emptying")
        for word in SPOILT:
            await jobs.start(word, "emptying" if word == "gap" else "q")
        await jobs.start("runs", "q")
        await jobs.wait("waits", "q", cores=8, replicas=4)
        tag = site.tag
    process.stop()
    connection = await asyncpg.connect(process.dsn)
    await connection.execute("alter table queue.workloads drop constraint workloads_queue_fkey")
    for word, spoil in SPOILT.items():
        assert await connection.execute(f"update queue.workloads set {spoil} where id like '{word}-%'") == "UPDATE 1"
    await connection.close()
    process.start()
    async with opened_site(process) as again:
        yield AdmissionSite(QueueSite(process, again.channel, again.root, tag))


@pytest.mark.timeout(120)
async def test_spoilt_workloads_are_set_aside_and_all_others_go_on(jobs: AdmissionSite) -> None:
    assert (await jobs.until("runs", ADMITTED)).admitted.grant_id
    await jobs.until("waits", PENDING)
    for word in SPOILT:
        story = await jobs.explain(word)
        assert story.workload.state == ASIDE
        assert "set aside" in story.waiting.message
    assert "'gone'" in (await jobs.explain("lost")).waiting.message
    await jobs.start("new", "q")
    request = admission_pb2.ListWorkloadsRequest(queue=jobs.site.name("q"), states=[ASIDE], page_size=2)
    listed = [each.key.job_id.split("-")[0] for each in await jobs.site.root.all(request, "workloads")]
    assert listed == sorted(SPOILT.keys() - {"gap", "lost"})
    async with watching(jobs.site.root) as watcher:
        assert ASIDE in {change.workload.state for change in await watcher.existing()}
    assert dict((await jobs.site.get("q")).used.amounts)["cpu"] >= 2000
    assert jobs.site.process.log.count("a workload is set aside") == len(SPOILT)
    for change in (admission_pb2.ResumeWorkloadRequest, admission_pb2.ResizeWorkloadRequest):
        with pytest.raises(WorkloadStateConflict, match="is set aside"):
            await jobs.site.root(change(key=jobs.key("gap")))
    again = jobs.workload("gap", "q", attempt=2)
    assert "release it first" in (await jobs.submit(again))[0].refusal.message


@pytest.mark.timeout(120)
async def test_what_is_set_aside_can_be_released_and_submitted_again(jobs: AdmissionSite) -> None:
    await jobs.site.root(queue_pb2.CloseQueueRequest(name=jobs.site.name("emptying")))
    with pytest.raises(QueueNotEmpty):
        await jobs.site.root(queue_pb2.DeleteQueueRequest(name=jobs.site.name("emptying")))
    async with watching(jobs.site.root) as watcher:
        await watcher.existing()
        for word in SPOILT:
            ended = await jobs.end(jobs.key(word), f"{jobs.key(word).job_id}/1", FINISHED)
            assert ended.workload.state == RELEASED
            assert (await watcher.until("released")).released.key == jobs.key(word)
            assert (await jobs.end(jobs.key(word), f"{jobs.key(word).job_id}/1", FINISHED)).workload.state == RELEASED
            (taken,) = await jobs.submit(jobs.workload(word, "q", attempt=2))
            assert not taken.refusal.reason
            await jobs.until(word, ADMITTED, 2)
    await jobs.site.root(queue_pb2.DeleteQueueRequest(name=jobs.site.name("emptying")))
    await jobs.release("runs")
