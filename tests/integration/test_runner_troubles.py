"""Replicas on a machine that lacks something, or that do what few do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from unittest.mock import patch

from paddleflow.problems import InvalidArgument, Unavailable
from pf_job.runtimes.local import client, frames, layout
from pf_job.runtimes.local.accounts import home_of
from pf_job.runtimes.local.adapter import LocalRuntime
from pf_job.runtimes.local.client import COMMAND
from pf_job.runtimes.port import Ceiling, Launch, Phase
from support.runtime_site import close, ended, launch, local_site, opened, watched
from support.waiting import until

FEW = 40
"""Files that a runner may have open."""


async def test_a_signal_without_a_name_is_told_by_its_number() -> None:
    async with opened() as (_, runtime):
        (seen,) = await ended(runtime, launch("kill -40 $$"))
        assert (seen.phase, seen.signal, seen.message) == (Phase.ENDED, 40, "ended by signal 40")


async def test_a_stop_that_cannot_be_written_down_holds_all_the_same() -> None:
    async with opened() as (site, runtime):
        replica = launch("trap '' TERM; echo set; sleep 30; sleep 30")
        await runtime.start([replica])
        await runtime.wait_log(replica.key, 0, 10_000_000)
        record = site.folder(replica.key) / layout.RECORD
        kept = record.rename(record.with_name("kept"))
        record.mkdir()
        with suppress(Unavailable):
            await runtime.stop([replica.key], 1_000_000)
        record.rmdir()
        kept.rename(record)
        await runtime.stop([replica.key], 1_000_000)
        async with watched(runtime) as watch:
            (seen,) = await watch.over(replica.key)
        assert seen.signal == signal.SIGKILL


async def test_where_no_more_files_can_be_opened_no_replica_runs_unknown() -> None:
    site = local_site()
    runtime = site.runtime(["prlimit", f"--nofile={FEW}:{FEW}", *COMMAND])
    try:
        replicas = [launch("sleep 60") for _ in range(FEW)]
        begun = await _how_many_start(runtime, replicas)
        assert 0 < begun < FEW
        # The one that could not be started may take a moment to be gone.
        await until(lambda: len(site.processes()) == begun + 1)
        await runtime.stop([replica.key for replica in replicas[:2]], 0)
        async with watched(runtime) as watch:
            await watch.over(*(replica.key for replica in replicas[:2]))
        assert await runtime.start([replicas[begun]]) == []
    finally:
        await close(site, runtime)


async def _how_many_start(runtime: LocalRuntime, replicas: Sequence[Launch]) -> int:
    for number, replica in enumerate(replicas):
        try:
            await runtime.start([replica])
        except Unavailable:
            return number
    return len(replicas)


async def test_a_log_that_was_emptied_keeps_to_its_limit() -> None:
    limit = 2**20
    script = "truncate -s 1T /dev/stdout; sleep 2.2; : > /dev/stdout; head -c 50M /dev/zero | tr '\\0' x; sleep 1"
    async with opened() as (site, runtime):
        replica = launch(script, ceiling=Ceiling(log=limit))
        await ended(runtime, replica)
        log = (site.folder(replica.key) / layout.LOG).stat()
        assert log.st_size >= 50 * 2**20
        assert log.st_blocks * 512 <= limit + 2**16


def test_a_user_whom_the_machine_does_not_know_has_no_home() -> None:
    assert home_of(os.geteuid()) is not None
    assert home_of(2**31 - 5) is None


def test_a_file_that_does_not_fit_takes_the_place_of_none(tmp_path: Path) -> None:
    """A limit of files cuts a write short as a full disk does."""
    script = f"""
import resource
from pf_job.runtimes.local import files
folder = files.open_folder({str(tmp_path)!r})
files.put(folder, "kept", b"before")
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    files.put(folder, "kept", b"x" * 5000)
except OSError as problem:
    print(problem.strerror)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert (done.stdout, (tmp_path / "kept").read_bytes()) == ("No space left on device\n", b"before")


async def test_a_runner_that_hangs_is_ended_and_its_replicas_go_on() -> None:
    async with opened() as (site, runtime):
        replica, other = launch("sleep 60"), launch("exit 3")
        await runtime.start([replica])
        hanging = site.runner
        assert hanging is not None
        os.kill(hanging, signal.SIGSTOP)
        with patch.object(client, "ANSWER_SECONDS", 0.5):
            assert await runtime.start([other]) == []
        assert site.runner != hanging
        async with watched(runtime) as watch:
            (seen,) = await watch.over(other.key)
            assert seen.status == 3
            await runtime.stop([replica.key], 0)
            (seen,) = await watch.over(replica.key)
            assert seen.signal == signal.SIGKILL


async def test_launches_that_are_too_long_for_one_message_are_sent_in_several() -> None:
    async with opened() as (_, runtime):
        replicas = [launch("exit 0", env={"LONG": "x" * 1000}) for _ in range(8)]
        huge = launch("exit 0", env={"LONG": "x" * 10_000})
        with patch.object(frames, "LIMIT", 5_000):
            refused = await runtime.start([*replicas, huge])
        assert [(each.key, type(each.problem)) for each in refused] == [(huge.key, InvalidArgument)]
        async with watched(runtime) as watch:
            found = await watch.over(*(replica.key for replica in replicas))
        assert [seen.status for seen in found] == [0] * len(replicas)
