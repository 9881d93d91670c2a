"""What every runtime does, whatever runs the replicas."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest

from paddleflow.problems import FailedPrecondition, InvalidArgument, NotFound, ResourceExhausted, Unavailable
from pf_job.runtimes.fake import FakeRuntime, Faults
from pf_job.runtimes.port import Ceiling, Launch, Phase, Runtime
from support.runtime_site import close, ended, everything, key, launch, local_site, output, said, watched
from support.waiting import eventually

LONG = 30_000_000


@pytest.fixture(params=["fake", "local"])
async def runtime(request: pytest.FixtureRequest) -> AsyncIterator[Runtime]:
    if request.param == "fake":
        yield FakeRuntime(accelerators=2)
        return
    site = local_site(accelerators=2)
    local = site.runtime()
    try:
        yield local
    finally:
        await close(site, local)


async def test_a_replica_ends_with_its_status(runtime: Runtime) -> None:
    (seen,) = await ended(runtime, launch("exit 3"))
    assert (seen.phase, seen.status, seen.signal) == (Phase.ENDED, 3, None)
    assert seen.started is not None
    assert seen.ended is not None
    assert seen.started <= seen.ended


async def test_a_replica_ended_by_a_signal_has_no_status(runtime: Runtime) -> None:
    (seen,) = await ended(runtime, launch("kill -9 $$"))
    assert (seen.phase, seen.status, seen.signal) == (Phase.ENDED, None, 9)


async def test_a_program_that_is_not_there_ends_the_replica_and_says_so(runtime: Runtime) -> None:
    (seen,) = await ended(runtime, launch(argv=["no-such-program"]))
    assert (seen.phase, seen.status) == (Phase.ENDED, 127)
    assert "no-such-program" in seen.message


async def test_what_a_replica_writes_is_its_log(runtime: Runtime) -> None:
    assert await said(runtime, "echo one; echo two") == "one\ntwo\n"


async def test_a_replica_has_the_environment_it_was_given(runtime: Runtime) -> None:
    assert await said(runtime, "echo $PF_JOB_ID", env={"PF_JOB_ID": "job-1"}) == "job-1\n"


async def test_private_variables_come_before_others(runtime: Runtime) -> None:
    given = {"env": {"PF_JOB_TOKEN": "x"}, "private_env": {"PF_JOB_TOKEN": "secret"}}
    assert await said(runtime, "echo $PF_JOB_TOKEN", **given) == "secret\n"


async def test_a_replica_is_started_once(runtime: Runtime) -> None:
    replica = launch("echo here; sleep 0.2")
    async with watched(runtime) as watch:
        await asyncio.gather(*(runtime.start([replica, replica]) for _ in range(5)))
        await watch.over(replica.key)
        await runtime.start([replica])
    assert await output(runtime, replica.key) == "here\n"
    assert [seen.phase for seen in watch.told].count(Phase.ENDED) == 1


async def test_another_restart_is_another_replica(runtime: Runtime) -> None:
    first = launch("exit 1")
    second = launch("exit 2", key=key(restart=1))
    assert [seen.status for seen in await ended(runtime, first, second)] == [1, 2]


async def test_a_watch_tells_first_what_there_is(runtime: Runtime) -> None:
    over, running = launch("exit 0"), launch("sleep 30")
    await ended(runtime, over)
    await runtime.start([running])
    async with watched(runtime) as watch:
        assert {seen.key: seen.phase for seen in watch.seen.values()} == {
            over.key: Phase.ENDED,
            running.key: Phase.RUNNING,
        }
    await runtime.stop([running.key], 0)


async def test_a_stopped_replica_is_told_to_end(runtime: Runtime) -> None:
    replica = launch("sleep 30")
    async with watched(runtime) as watch:
        await runtime.start([replica])
        await watch.running(replica.key)
        await runtime.stop([replica.key], LONG)
        (seen,) = await watch.over(replica.key, patience=10)
    assert (seen.phase, seen.signal) == (Phase.ENDED, 15)


async def test_who_does_not_end_in_time_is_killed(runtime: Runtime) -> None:
    replica = launch("trap '' TERM; echo set; sleep 30; sleep 30")
    async with watched(runtime) as watch:
        await runtime.start([replica])
        await runtime.wait_log(replica.key, 0, LONG)
        begun = time.monotonic()
        await runtime.stop([replica.key], 300_000)
        (seen,) = await watch.over(replica.key, patience=10)
    assert time.monotonic() - begun >= 0.25
    assert (seen.phase, seen.signal) == (Phase.ENDED, 9)
    assert "killed" in seen.message


async def test_a_second_stop_can_only_shorten_the_grace(runtime: Runtime) -> None:
    replica = launch("trap '' TERM; echo set; sleep 30; sleep 30")
    async with watched(runtime) as watch:
        await runtime.start([replica])
        await runtime.wait_log(replica.key, 0, LONG)
        for grace in (LONG, 100_000, LONG):
            await runtime.stop([replica.key], grace)
        (seen,) = await watch.over(replica.key, patience=10)
    assert seen.signal == 9


async def test_what_was_stopped_before_it_began_never_begins(runtime: Runtime) -> None:
    replica = launch("echo here")
    for _ in range(2):
        assert await runtime.stop([replica.key], 0) == [replica.key]
        (refused,) = await runtime.start([replica])
        assert refused.key == replica.key
        assert isinstance(refused.problem, FailedPrecondition)
    assert await everything(runtime) == []


async def test_to_stop_what_is_over_changes_nothing(runtime: Runtime) -> None:
    replica = launch("exit 4")
    await ended(runtime, replica)
    assert await runtime.stop([replica.key], 0) == []
    assert [seen.status for seen in await everything(runtime)] == [4]


async def test_a_forgotten_replica_is_told_of_no_more_and_its_log_stays(runtime: Runtime) -> None:
    replica = launch("echo kept")
    await ended(runtime, replica)
    for _ in range(2):
        await runtime.forget([replica.key])
    assert await everything(runtime) == []
    assert await output(runtime, replica.key) == "kept\n"
    assert await runtime.start([replica]) == []
    assert await everything(runtime) == []


async def test_what_runs_is_not_forgotten(runtime: Runtime) -> None:
    replica = launch("sleep 30")
    await runtime.start([replica])
    await runtime.forget([replica.key])
    await runtime.drop_logs([replica.key])
    assert [seen.key for seen in await everything(runtime)] == [replica.key]
    assert await output(runtime, replica.key) == ""
    await runtime.stop([replica.key], 0)


async def test_dropped_logs_are_gone(runtime: Runtime) -> None:
    replica = launch("echo kept")
    await ended(runtime, replica)
    for _ in range(2):
        await runtime.drop_logs([replica.key])
    with pytest.raises(NotFound):
        await runtime.read_log(replica.key, 0, 10)
    with pytest.raises(NotFound):
        await runtime.log_offset(replica.key, 0)
    assert [seen.key for seen in await everything(runtime)] == [replica.key]


@pytest.mark.parametrize(
    ("offset", "size", "data", "end"),
    [
        (0, 100, b"0123456789\n", True),
        (0, 4, b"0123", False),
        (6, 2, b"67", False),
        (-3, 100, b"89\n", True),
        (-100, 2, b"01", False),
        (11, 10, b"", True),
        (50, 10, b"", True),
    ],
)
async def test_a_part_of_a_log(runtime: Runtime, offset: int, size: int, data: bytes, end: bool) -> None:
    replica = launch("echo 0123456789")
    await ended(runtime, replica)
    found = await runtime.read_log(replica.key, offset, size)
    assert (found.data, found.end, found.kept_from) == (data, end, 0)


async def test_the_log_of_what_runs_has_no_end(runtime: Runtime) -> None:
    replica = launch("echo one; sleep 30")
    await runtime.start([replica])
    await runtime.wait_log(replica.key, 0, LONG)
    found = await runtime.read_log(replica.key, 0, 100)
    assert (found.data, found.end) == (b"one\n", False)
    await runtime.stop([replica.key], 0)


async def test_who_waits_for_a_log_hears_soon(runtime: Runtime) -> None:
    replica = launch("sleep 0.5; echo one; sleep 30")
    await runtime.start([replica])
    await runtime.wait_log(replica.key, 0, LONG)
    assert (await runtime.read_log(replica.key, 0, 100)).data == b"one\n"
    begun = time.monotonic()
    await runtime.wait_log(replica.key, 4, 50_000)
    assert 0.04 <= time.monotonic() - begun < 5
    await runtime.stop([replica.key], 0)


async def test_a_log_is_found_by_time(runtime: Runtime) -> None:
    replica = launch("echo one; sleep 2.5; echo two")
    (seen,) = await ended(runtime, replica)
    assert seen.started is not None
    assert seen.ended is not None
    assert await runtime.log_offset(replica.key, seen.started - 1_000_000) == 0
    assert await runtime.log_offset(replica.key, seen.started + 2_200_000) == 4
    assert await runtime.log_offset(replica.key, seen.ended + 60_000_000) == 8


async def test_accelerators_are_had_by_one_at_a_time(runtime: Runtime) -> None:
    first, second = (launch("sleep 30", accelerators=1) for _ in range(2))
    third = launch("exit 0", accelerators=1)
    async with watched(runtime) as watch:
        assert await runtime.start([first, second]) == []
        await watch.running(first.key, second.key)
        assert sorted(seen.accelerators for seen in watch.seen.values()) == [(0,), (1,)]
        (refused,) = await runtime.start([third])
        assert isinstance(refused.problem, ResourceExhausted)
        await runtime.stop([first.key, second.key], 0)
        await watch.over(first.key, second.key)
        assert await runtime.start([launch("exit 0", accelerators=2)]) == []


@pytest.mark.parametrize(
    ("replica", "problem"),
    [
        pytest.param(launch(argv=[]), InvalidArgument, id="nothing to run"),
        pytest.param(launch(cwd="here"), InvalidArgument, id="relative folder"),
        pytest.param(launch(accelerators=3), FailedPrecondition, id="more accelerators than there are"),
    ],
)
async def test_what_can_never_run_is_refused(runtime: Runtime, replica: Launch, problem: type[Exception]) -> None:
    good = launch("exit 0")
    async with watched(runtime) as watch:
        (refused,) = await runtime.start([replica, good])
        await watch.over(good.key)
    assert refused.key == replica.key
    assert isinstance(refused.problem, problem)


async def test_many_start_and_end(runtime: Runtime) -> None:
    replicas = [launch(f"exit {number % 3}", ceiling=Ceiling(log=2**20)) for number in range(60)]
    seen = await ended(runtime, *replicas)
    assert [one.status for one in seen] == [number % 3 for number in range(60)]


async def test_there_is_a_machine_that_they_run_on(runtime: Runtime) -> None:
    machines = await runtime.machines()
    (seen,) = await ended(runtime, launch("exit 0"))
    assert seen.machine in [machine.name for machine in machines]
    assert all(machine.capacity["cpu"] > 0 and machine.capacity["memory"] > 0 for machine in machines)
    assert sum(machine.capacity.get("nvidia.com/gpu", 0) for machine in machines) == 2


@pytest.mark.parametrize("seed", range(20))
async def test_faults_start_nothing_twice_and_hide_nothing(seed: int) -> None:
    """Who asks until it is answered, and watches anew when a watch breaks, finds all ended, each started once."""
    runtime = FakeRuntime(Faults(random.Random(seed), before=200, after=200, broken=100))
    replicas = [launch("exit 0") for _ in range(20)]
    over: set[object] = set()
    while True:
        try:
            await runtime.start(replicas)
            async for seen in runtime.watch():
                over.update(one.key for one in seen if one.phase is Phase.ENDED)
                if len(over) == len(replicas):
                    break
        except Unavailable:
            continue
        break
    assert sorted(runtime.begun) == sorted(replica.key for replica in replicas)


async def test_what_a_replica_used_is_known_when_it_is_over(runtime: Runtime) -> None:
    replica = launch("sleep 0.3; exit 0")
    (seen,) = await ended(runtime, replica)
    samples = (await runtime.usage(replica.key)).samples
    first, last = samples[0], samples[-1]
    assert (first.time, first.cpu, first.read, first.written) == (seen.started, 0, 0, 0)
    assert last.time == seen.ended
    assert last.cpu is not None
    assert 0 <= last.cpu < 300_000
    assert sorted(samples, key=lambda each: each.time) == list(samples)


async def test_what_a_replica_uses_is_seen_while_it_runs(runtime: Runtime) -> None:
    replica = launch("sleep 30")
    await runtime.start([replica])

    async def is_seen() -> bool:
        # It takes a moment until it has begun.
        with suppress(NotFound):
            return any(each.memory for each in (await runtime.usage(replica.key)).samples)
        return False

    assert await eventually(is_seen, patience=20)
    assert (await runtime.usage(replica.key)).notes
    await runtime.stop([replica.key], 0)


async def test_what_a_replica_used_goes_with_its_log(runtime: Runtime) -> None:
    replica = launch("exit 0")
    with pytest.raises(NotFound):
        await runtime.usage(replica.key)
    await ended(runtime, replica)
    assert (await runtime.usage(replica.key)).samples
    await runtime.drop_logs([replica.key])
    with pytest.raises(NotFound):
        await runtime.usage(replica.key)
