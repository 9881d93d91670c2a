"""What is written down of replicas that run, over their time and over runners."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Sequence
from pathlib import Path

from pf_job.runtimes.local import layout, samples
from pf_job.runtimes.local.gauges import Gauge
from pf_job.runtimes.local.loop import Loop, now
from pf_job.runtimes.local.meter import Meter
from pf_job.runtimes.local.samples import UNKNOWN, Sample


class Devices:
    """Two accelerators, one of them half busy."""

    def read(self, numbers: Sequence[int]) -> tuple[int, int]:
        return 500 * len(numbers), 7


def look(folder: Path, seconds: float, accelerators: Sequence[int] = (), age: float = 0) -> list[Sample]:
    """What is in the file when a meter has looked for so long."""
    loop = Loop(lambda: None)
    meter = Meter(loop, Devices())
    started = time.time_ns() // 1_000 - round(age * 1e6)
    meter.begin("a", str(folder), Gauge(os.getpid(), ()), accelerators, started)
    loop.call_at(now() + seconds, loop.end)
    loop.run()
    path = folder / layout.USAGE
    return samples.decode(path.read_bytes()) if path.exists() else []


def test_a_replica_is_looked_at_each_second_at_first(tmp_path: Path) -> None:
    found = look(tmp_path, 2.6)
    assert len(found) >= 2
    assert all(later.time - earlier.time > 0.5e6 for earlier, later in itertools.pairwise(found))
    assert found[0].cpu <= found[-1].cpu
    assert found[0].accelerator == UNKNOWN


def test_an_old_one_is_not_looked_at_so_soon(tmp_path: Path) -> None:
    assert look(tmp_path, 1.6, age=100) == []


def test_what_is_over_at_once_leaves_no_file(tmp_path: Path) -> None:
    loop = Loop(lambda: None)
    meter = Meter(loop, Devices())
    meter.begin("a", str(tmp_path), Gauge(os.getpid(), ()), (), time.time_ns() // 1_000)
    meter.end("a")
    meter.end("unknown")
    loop.call_at(now() + 1.6, loop.end)
    loop.run()
    assert list(tmp_path.iterdir()) == []


def test_accelerators_are_looked_at_with_their_replica(tmp_path: Path) -> None:
    found = look(tmp_path, 1.6, accelerators=(0, 1))
    assert (found[-1].accelerator, found[-1].accelerator_memory) == (1_000, 7)


def test_a_later_runner_goes_on_in_the_file_and_it_never_grows_too_long(tmp_path: Path) -> None:
    before = [Sample(number) for number in range(samples.LONGEST)]
    (tmp_path / layout.USAGE).write_bytes(samples.encode(before))
    found = look(tmp_path, 1.6)
    assert samples.LONGEST // 2 < len(found) < samples.LONGEST // 2 + 4
    assert [each.time for each in found[:3]] == [0, 2, 4]
    assert found[-1].time > samples.LONGEST
    assert [path.name for path in tmp_path.iterdir()] == [layout.USAGE]


def test_a_folder_that_is_gone_holds_up_nobody(tmp_path: Path) -> None:
    assert look(tmp_path / "gone", 1.6) == []
