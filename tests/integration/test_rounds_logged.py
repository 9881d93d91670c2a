"""A service that logs its rounds: whatever happens to it, what it decided is decided again by a replay."""

from __future__ import annotations

import asyncio
from base64 import b32encode
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from random import Random

import pytest

from fixtures_queue import own_service
from paddleflow.queue.v1 import admission_pb2, queue_pb2, workload_pb2
from pf_queue.admission.domain import Decided
from pf_queue.admission.journal.replay import Ended, Replayed, replay
from pf_queue.admission.journal.segments import segments
from pf_queue.admission.journal.writer import End
from support.admission_site import CANCELLED, EVICTED, EVICTING, FINISHED, AdmissionSite
from support.queue_process import QueueProcess
from support.queue_site import opened_site
from support.rounds import replayed
from support.servers import PostgresServer, ValkeyServer
from support.waiting import eventually, until


@pytest.fixture
def process(postgres_server: PostgresServer, valkey_server: ValkeyServer, tmp_path: Path) -> Iterator[QueueProcess]:
    settings = {
        "PF_QUEUE_ADMISSION_ROUNDS_FOLDER": str(tmp_path / "rounds"),
        "PF_QUEUE_ADMISSION_ROUNDS_SEGMENT_MEGABYTES": "1",
    }
    with own_service(postgres_server, valkey_server, settings) as process:
        yield process


@pytest.fixture
async def jobs(process: QueueProcess) -> AsyncIterator[AdmissionSite]:
    async with opened_site(process) as site:
        admission = AdmissionSite(site)
        await admission.prepare()
        await site.create("red", min={"cpu": 16_000, "memory": 2**36})
        await site.create("green", min={"cpu": 16_000, "memory": 2**36})
        yield admission


async def load(jobs: AdmissionSite, wave: str) -> None:
    """One team takes all there is, another takes its part back, all ends; with refusals in between."""
    many = [jobs.workload(f"{wave}-{n}", "red", cores=2, most=3) for n in range(20)]
    await jobs.submit(*many)
    await jobs.submit(*many, jobs.workload(f"{wave}-none", "none"))
    await jobs.submit(*(jobs.workload(f"{wave}-back-{n}", "green", cores=4) for n in range(4)))
    await jobs.report(5)
    for n in range(20):
        found = await jobs.get(f"{wave}-{n}")
        await jobs.end(found.key, "another grant", FINISHED)
        outcome = EVICTED if found.state == EVICTING else FINISHED
        await jobs.end(found.key, found.admitted.grant_id, outcome)


async def decided(jobs: AdmissionSite) -> list[tuple[str, str, str]]:
    """All that is stored, oldest first."""
    reply = await jobs.site.root(admission_pb2.ListDecisionsRequest(page_size=1000))
    assert not reply.next_page_token
    kinds = admission_pb2.DecisionKind.Name
    return [
        (f"{each.key.job_id}/{each.key.attempt}", each.queue, kinds(each.kind).removeprefix("DECISION_KIND_").lower())
        for each in reversed(reply.decisions)
    ]


def plain(decided: Decided) -> tuple[str, str, str]:
    return str(decided.key), decided.queue, decided.kind.value


async def test_all_that_is_stored_is_in_the_log_and_comes_out_the_same(
    jobs: AdmissionSite, process: QueueProcess, tmp_path: Path
) -> None:
    await load(jobs, "a")
    await jobs.site.root(queue_pb2.HoldQueueRequest(name=jobs.site.name("red")))
    await load(jobs, "b")
    supposed = [jobs.workload(f"supposed-{n}", "green") for n in range(5)]
    simulated = await jobs.site.root(admission_pb2.SimulateRequest(workloads=supposed))
    assert simulated.decisions
    stored = await decided(jobs)
    assert len(stored) > 40
    process.stop()
    turns = replayed(tmp_path / "rounds")
    assert [plain(each) for turn in turns for each in turn.decided] == stored
    assert not any(turn.difference or turn.fault or not turn.stored for turn in turns)
    (path,) = segments(tmp_path / "rounds")
    assert list(replay(path))[-1] == Ended(End.STOPPED, torn=False)


async def test_the_log_of_a_leader_that_is_killed_is_replayed_and_goes_on_in_the_next(
    jobs: AdmissionSite, process: QueueProcess, tmp_path: Path
) -> None:
    loading = asyncio.create_task(load(jobs, "a"))
    folder = tmp_path / "rounds"
    await until(lambda: any(turn.decided for turn in replayed(folder)), patience=20.0)
    process.kill()
    loading.cancel()
    await asyncio.wait([loading])
    process.start()

    async def leads() -> bool:
        await load(jobs, "b")
        return True

    await eventually(leads, patience=30.0)
    stored = await decided(jobs)
    process.stop()
    before, after = ([step for step in replay(path) if isinstance(step, Replayed)] for path in segments(folder))
    assert before
    assert after
    assert not any(turn.difference or turn.fault for turn in (*before, *after))
    first = [plain(each) for turn in before for each in turn.decided]
    last = [plain(each) for turn in after for each in turn.decided]
    # What was decided in the last second before the kill may be stored, and not in the log.
    assert stored[: len(first)] == first
    assert stored[len(stored) - len(last) :] == last


async def test_a_segment_that_is_full_is_followed_by_another_while_all_goes_on(
    jobs: AdmissionSite, process: QueueProcess, tmp_path: Path
) -> None:
    """Names by chance cannot be packed, so that a megabyte is soon full."""
    chance, folder = Random(1), tmp_path / "rounds"
    await jobs.start("first", "green", cores=4)
    await jobs.site.root(queue_pb2.HoldQueueRequest(name=jobs.site.name("red")))
    for batch in range(60):
        waiting = [jobs.workload(f"w{batch}-{n}", "red") for n in range(100)]
        for each in waiting:
            names = [b32encode(chance.randbytes(30)).decode().lower() for _ in range(10)]
            each.roles.extend(workload_pb2.RoleRequest(role=name, min_replicas=1) for name in names)
        assert not any(result.refusal.reason for result in await jobs.submit(*waiting))
        over = [admission_pb2.Release(key=each.key, outcome=CANCELLED) for each in waiting]
        reply = await jobs.site.root(admission_pb2.ReleaseWorkloadsRequest(releases=over))
        assert not any(result.refusal.reason for result in reply.results)
        if sum(path.stat().st_size for path in segments(folder)) > 2**20:
            break
    await until(lambda: len(segments(folder)) == 2)
    await jobs.start("last", "green", cores=4)
    process.stop()
    ends = [step.why for path in segments(folder) for step in replay(path) if isinstance(step, Ended)]
    assert ends == [End.LOADED, End.STOPPED]
    turns = replayed(folder)
    assert not any(turn.difference or turn.fault or not turn.stored for turn in turns)
    told = [str(each.key) for turn in turns for each in turn.decided]
    assert told == [f"{jobs.site.name(job)}/1" for job in ("first", "last")]
