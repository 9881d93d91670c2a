"""Whatever dies, replicas go on, none is started twice, and how they end is known."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pf_job.runtimes.local import groups, layout, records
from pf_job.runtimes.local.adapter import LocalRuntime
from pf_job.runtimes.local.records import Record
from pf_job.runtimes.port import Launch, Phase
from support import runtime_runner
from support.runtime_site import LocalSite, close, everything, launch, local_site, opened, output, watched
from support.waiting import until

STEPS = 13
"""Of a runner in `live`."""
LONG = 30_000_000


@pytest.fixture
async def place() -> AsyncIterator[tuple[LocalSite, LocalRuntime]]:
    async with opened() as made:
        yield made


async def live(runtime: LocalRuntime, replicas: tuple[Launch, Launch]) -> list[tuple[Phase, int | None, str]]:
    """Starts two replicas, of which the second has to be killed, and forgets them; how they ended, and their output."""
    keys = [replica.key for replica in replicas]
    async with watched(runtime) as watch:
        assert await runtime.start(replicas) == []
        await watch.running(*keys)
        await runtime.wait_log(keys[1], 0, 2_000_000)
        await runtime.stop(keys[1:], 50_000)
        seen = await watch.over(*keys)
    told = [(one.phase, one.signal, await output(runtime, one.key)) for one in seen]
    await runtime.forget(keys)
    return told


@pytest.mark.parametrize("step", range(1, STEPS + 1))
async def test_a_runner_may_die_at_every_step(step: int) -> None:
    site = local_site()
    file = site.data / "step"
    file.write_text(str(step))
    runtime = site.runtime([sys.executable, "-P", runtime_runner.__file__, str(file)])
    replicas = (launch("echo here"), launch("trap '' TERM; echo here; sleep 30; sleep 30"))
    try:
        told = await live(runtime, replicas)
        assert file.with_suffix(".passed").exists()
        assert told == [(Phase.ENDED, None, "here\n"), (Phase.ENDED, signal.SIGKILL, "here\n")]
        assert await everything(runtime) == []
    finally:
        await close(site, runtime)


async def test_there_are_no_more_steps_than_are_tried() -> None:
    site = local_site()
    file = site.data / "step"
    file.write_text(str(STEPS + 1))
    runtime = site.runtime([sys.executable, "-P", runtime_runner.__file__, str(file)])
    try:
        await live(runtime, (launch("echo here"), launch("trap '' TERM; echo here; sleep 30; sleep 30")))
        assert file.exists()
    finally:
        await close(site, runtime)


async def test_a_replica_outlives_its_runner_and_its_status_is_known(place: tuple[LocalSite, LocalRuntime]) -> None:
    site, runtime = place
    before = launch("sleep 0.3; exit 5")
    after = launch("trap 'exit 6' TERM; echo begun; while :; do sleep 0.05; done")
    await runtime.start([before, after])
    site.kill_runner()
    # One ends while there is no runner at all.
    await until(lambda: b'"ending"' in (site.folder(before.key) / layout.RECORD).read_bytes())
    async with watched(runtime) as watch:
        assert watch.seen[after.key].phase is Phase.RUNNING
        await runtime.stop([after.key], LONG)
        seen = await watch.over(before.key, after.key)
    assert [one.status for one in seen] == [5, 6]
    assert (await output(runtime, after.key)).startswith("begun\n")


async def test_a_stop_holds_although_the_runner_dies(place: tuple[LocalSite, LocalRuntime]) -> None:
    site, runtime = place
    replica = launch("trap '' TERM; echo set; sleep 30; sleep 30")
    await runtime.start([replica])
    await runtime.wait_log(replica.key, 0, LONG)
    await runtime.stop([replica.key], 500_000)
    site.kill_runner()
    async with watched(runtime) as watch:
        (seen,) = await watch.over(replica.key)
    assert seen.signal == signal.SIGKILL


async def test_accelerators_stay_with_whom_they_were_given_to() -> None:
    async with opened(accelerators=2) as (site, runtime):
        first, second = launch("sleep 30", accelerators=1), launch("sleep 30", accelerators=1)
        await runtime.start([first])
        site.kill_runner()
        await runtime.start([second])
        seen = {one.key: one.accelerators for one in await everything(runtime)}
        assert seen == {first.key: (0,), second.key: (1,)}


async def test_a_replica_whose_init_is_killed_is_lost_with_all_its_processes(
    place: tuple[LocalSite, LocalRuntime],
) -> None:
    site, runtime = place
    replica = launch("sleep 4711 & sleep 4711")
    async with watched(runtime) as watch:
        await runtime.start([replica])
        await until(lambda: len(_sleepers("4711")) == 2)
        (init,) = [pid for pid in site.processes() if pid != site.runner]
        os.kill(init, signal.SIGKILL)
        (seen,) = await watch.over(replica.key)
        assert seen.phase is Phase.LOST
        await until(lambda: _sleepers("4711") == [])
        assert await runtime.start([replica]) == []
        assert watch.seen[replica.key].phase is Phase.LOST


async def test_two_who_need_a_runner_get_the_same(place: tuple[LocalSite, LocalRuntime]) -> None:
    site, runtime = place
    others = [site.runtime() for _ in range(4)]
    await asyncio.gather(*(other.machines() for other in [runtime, *others]))
    assert site.processes() == [site.runner]
    for other in others:
        await other.close()


async def test_a_runner_with_other_settings_takes_the_replicas_on(place: tuple[LocalSite, LocalRuntime]) -> None:
    site, runtime = place
    replica = launch("sleep 30")
    await runtime.start([replica])
    before = site.runner
    other = LocalRuntime(site.data, type(site.settings)(first_uid=1_750_000_000, accelerators=3))
    assert [seen.key for seen in await everything(other)] == [replica.key]
    assert site.runner != before
    await other.close()


async def test_replicas_outlive_whoever_started_them(place: tuple[LocalSite, LocalRuntime], tmp_path: Path) -> None:
    site, runtime = place
    replica = launch("sleep 1; echo done; exit 7")
    script = f"""
import asyncio, os, signal
from pathlib import Path
from pf_job.runtimes.local.adapter import LocalRuntime
from pf_job.runtimes.local.records import Record
from pf_job.runtimes.local.settings import RunnerSettings
from pf_job.runtimes.port import Launch, ReplicaKey

async def main() -> None:
    runtime = LocalRuntime(Path({str(site.data)!r}), RunnerSettings(first_uid=1_750_000_000))
    await runtime.start([Launch(key={replica.key!r}, tenant="ada", argv={list(replica.argv)!r}, env={{}}, cwd="/")])
    os.kill(0, signal.SIGKILL)

asyncio.run(main())
"""
    killed = await asyncio.create_subprocess_exec(sys.executable, "-c", script, start_new_session=True)
    assert await killed.wait() == -signal.SIGKILL
    async with watched(runtime) as watch:
        (seen,) = await watch.over(replica.key)
    assert (seen.status, await output(runtime, replica.key)) == (7, "done\n")


def _sleepers(mark: str) -> list[Path]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if words[:2] == [b"sleep", mark.encode()]:
            found.append(path)
    return found


async def test_the_end_of_one_replica_harms_no_other(place: tuple[LocalSite, LocalRuntime]) -> None:
    """Its processes are looked for among all that there are, while those of others come and go."""
    site, runtime = place
    forking = launch("for n in $(seq 10); do (while sleep 0.02; do :; done; echo killed) & done; wait")
    sleepers = [launch("sleep 60") for _ in range(10)]
    async with watched(runtime) as watch:
        await runtime.start([forking])
        (kept,) = [pid for pid in site.processes() if pid != site.runner]
        await runtime.start(sleepers)
        await watch.running(*(sleeper.key for sleeper in sleepers))
        for init in set(site.processes()) - {kept, site.runner}:
            os.kill(init, signal.SIGKILL)
        await watch.over(*(sleeper.key for sleeper in sleepers))
    assert await output(runtime, forking.key) == ""


@pytest.mark.parametrize("is_adopted", [False, True], ids=["own", "adopted"])
async def test_without_namespaces_too_nothing_is_left_of_a_replica_whose_init_is_killed(*, is_adopted: bool) -> None:
    """Also if it was started by a runner before this one, so that its processes go to another parent."""
    async with opened(contained=False) as (site, runtime):
        replica = launch("setsid sleep 4712 & sleep 4712", requests={"cpu": 100})
        await runtime.start([replica])
        await until(lambda: len(_sleepers("4712")) == 2)
        # Who is in no group can be found only by whom it became a child of.
        await until(lambda: _is_grouped(site, replica) or not is_adopted)
        (init,) = [pid for pid in site.processes() if pid != site.runner]
        if is_adopted:
            site.kill_runner()
            await everything(runtime)
        os.kill(init, signal.SIGKILL)
        async with watched(runtime) as watch:
            (seen,) = await watch.over(replica.key)
        assert seen.phase is Phase.LOST
        if _record(site, replica).groups or not is_adopted:
            await until(lambda: _sleepers("4712") == [])
        await until(lambda: not any(map(os.path.exists, _record(site, replica).groups)))
    for path in _sleepers("4712"):
        os.kill(int(path.parent.name), signal.SIGKILL)


def _record(site: LocalSite, replica: Launch) -> Record:
    record = records.read((site.folder(replica.key) / layout.RECORD).read_bytes()).record
    assert record is not None
    return record


def _is_grouped(site: LocalSite, replica: Launch) -> bool:
    """Whether its groups hold it, or there are none here."""
    folders = _record(site, replica).groups
    return not folders or len(list(groups.members(folders))) >= 2
