"""The service when what it stands on breaks: the database, the bus, its keys, and itself."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from base64 import b64encode
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest
from google.protobuf.message import Message

from paddleflow.auth.v1 import auth_pb2
from paddleflow.channel import open_channel_without_retries
from paddleflow.problems import DatabaseUnavailable, Problem, Unavailable
from paddleflow.queue.v1 import cluster_pb2, queue_pb2
from support.callers import Caller
from support.databases import fresh_database
from support.queue_process import QueueProcess
from support.queue_site import QueueSite, opened_site, unused
from support.servers import PostgresServer, ValkeyServer
from support.waiting import eventually, until


@pytest.fixture
def own_process(own_postgres: PostgresServer, valkey_server: ValkeyServer) -> Iterator[QueueProcess]:
    """A service, and a Postgres of its own, that the test may break."""
    process = QueueProcess(own_postgres.dsn(), valkey_server.url)
    process.start()
    yield process
    process.remove()


@asynccontextmanager
async def impatient(site: QueueSite) -> AsyncIterator[Caller]:
    """Root, over a channel that does not try again."""
    async with open_channel_without_retries(site.process.address, None) as channel:
        yield Caller(channel, site.root.secret)


async def answered(caller: Caller, request: queue_pb2.GetQueueRequest) -> queue_pb2.Queue | None:
    try:
        found: queue_pb2.Queue = (await caller(request)).queue
    except Unavailable:
        return None
    return unused(found)


async def is_refused(caller: Caller, request: Message) -> bool:
    """True if the database cannot be reached."""
    try:
        await caller(request)
    except DatabaseUnavailable:
        return True
    return False


@pytest.mark.parametrize("how", ["stop", "kill"])
async def test_without_postgres_calls_fail_and_with_it_they_succeed_again(
    own_process: QueueProcess, own_postgres: PostgresServer, how: str
) -> None:
    async with opened_site(own_process) as site, impatient(site) as caller:
        made = await site.create("q")
        request = queue_pb2.GetQueueRequest(name=made.name)
        await asyncio.to_thread(getattr(own_postgres, how))
        # Processes behind a killed one live on for a moment, and answer.
        assert await eventually(lambda: is_refused(caller, request))
        with pytest.raises(DatabaseUnavailable):
            await caller(queue_pb2.CreateQueueRequest(queue=site.draft("new")))
        await asyncio.to_thread(own_postgres.start)
        assert await eventually(lambda: answered(caller, request), patience=20) == made
        changed = await site.update("q", weight=5)
        assert int(changed.etag, 16) > int(made.etag, 16)


async def test_a_service_that_is_killed_comes_back_with_all_it_acknowledged(own_process: QueueProcess) -> None:
    async with opened_site(own_process) as site, impatient(site) as caller:
        acknowledged: list[str] = []

        async def write(writer: int) -> None:
            for number in range(1_000):
                draft = site.draft(f"q{writer}-{number}")
                try:
                    await caller(queue_pb2.CreateQueueRequest(queue=draft, request_id=draft.name))
                except Problem:
                    return
                acknowledged.append(draft.name)

        writers = [asyncio.create_task(write(writer)) for writer in range(8)]
        await until(lambda: len(acknowledged) >= 40)
        await asyncio.to_thread(own_process.kill)
        await asyncio.gather(*writers)
        await asyncio.to_thread(own_process.start)
        found = await site.root.all(queue_pb2.ListQueuesRequest(cluster=site.cluster, page_size=1_000), "queues")
        assert set(acknowledged) <= {queue.name for queue in found}
        await asyncio.gather(*(again(site, queue) for queue in found))


async def again(site: QueueSite, queue: queue_pb2.Queue) -> None:
    """The request that made the queue gets the reply it got, or would have got, before."""
    word = queue.name.removesuffix(f"-{site.tag}")
    request = queue_pb2.CreateQueueRequest(queue=site.draft(word), request_id=queue.name)
    assert (await site.root(request)).queue == unused(queue)


async def test_without_redis_everything_works(postgres_server: PostgresServer) -> None:
    async with fresh_database(postgres_server) as dsn:
        process = QueueProcess(dsn, "redis://127.0.0.1:1")
        try:
            await asyncio.to_thread(process.start)
            async with opened_site(process) as site:
                await site.create("q")
                assert (await site.update("q", weight=5)).weight == 5
        finally:
            await asyncio.to_thread(process.remove)


async def test_it_does_not_start_with_a_key_that_opens_none_of_its_credentials(
    postgres_server: PostgresServer, valkey_server: ValkeyServer
) -> None:
    async with fresh_database(postgres_server) as dsn:
        process = QueueProcess(dsn, valkey_server.url)
        try:
            await asyncio.to_thread(process.start)
            async with opened_site(process) as site:
                cluster = cluster_pb2.Cluster(name=site.cluster, credential=b"kubeconfig")
                request = cluster_pb2.UpdateClusterRequest(cluster=cluster)
                request.update_mask.paths.append("credential")
                await site.root(request)
            assert await asyncio.to_thread(process.stop) == 0
            (process.folder / "credential.key").write_bytes(b64encode(bytes(32)))
            failed = await asyncio.to_thread(run, process)
            assert failed.returncode == 1
            assert f"the key does not open the credential of cluster '{site.cluster}'" in failed.stderr
        finally:
            await asyncio.to_thread(process.remove)


def run(process: QueueProcess, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command until its end."""
    command = [sys.executable, "-m", "pf_queue", *arguments]
    return subprocess.run(command, env=process.environment, capture_output=True, text=True, timeout=40)


async def test_two_instances_on_one_database_see_each_others_changes(own_process: QueueProcess) -> None:
    other = QueueProcess(own_process.dsn, own_process.redis)
    for name in ("signing.pem", "credential.key"):
        (other.folder / name).write_bytes((own_process.folder / name).read_bytes())
    try:
        await asyncio.to_thread(other.start)
        async with opened_site(own_process) as here, opened_site(other) as there:
            made = await here.create("q")
            found = await there.root(queue_pb2.GetQueueRequest(name=made.name))
            assert unused(found.queue) == made
            stream = there.root.watch(queue_pb2.WatchQueuesRequest(cluster=here.cluster))
            assert [event.queue for event in (await anext(stream)).events] == [made]
            changed = await here.update("q", weight=7)
            assert [event.queue for event in (await anext(stream)).events] == [changed]
            await stream.aclose()
            await there.root(auth_pb2.WhoAmIRequest())
    finally:
        await asyncio.to_thread(other.remove)


def test_the_command_shows_its_version_and_its_settings(own_process: QueueProcess) -> None:
    assert run(own_process, "--version").stdout.startswith("pf-queue 2.")
    shown = dict(line.partition("=")[::2] for line in run(own_process, "--print-config").stdout.splitlines())
    assert shown["PF_QUEUE_SERVER_LISTEN"] == own_process.address
    assert shown["PF_QUEUE_SEEDS"] == "true"
    for secret in ("PF_QUEUE_DATABASE_DSN", "PF_QUEUE_REDIS", "PF_QUEUE_SIGNING_KEY", "PF_QUEUE_CREDENTIAL_KEY"):
        assert shown[next(name for name in shown if name.startswith(secret))] == "***"
