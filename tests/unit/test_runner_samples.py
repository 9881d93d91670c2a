"""What replicas use: read from what the kernel tells, written down in records, and how often."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pf_job.runtimes.local import gauges, samples
from pf_job.runtimes.local.gauges import Counted, Files, Gauge
from pf_job.runtimes.local.nvml import Nvml
from pf_job.runtimes.local.processes import descendants
from pf_job.runtimes.local.samples import UNKNOWN, Sample

NUMBERS = st.integers(UNKNOWN, 2**62)
SAMPLES = st.lists(st.builds(Sample, *[NUMBERS] * 8))

SECOND_VERSION = {
    "cpu.stat": "usage_usec 1500\nuser_usec 1000\nsystem_usec 500\n",
    "memory.current": "9000\n",
    "memory.stat": "anon 4000\ninactive_file 3000\nactive_file 100\n",
    "io.stat": "8:0 rbytes=10 wbytes=20 rios=1 wios=2\n8:16 rbytes=1 wbytes=2 rios=1 wios=2 dbytes=0 dios=0\n",
    "pids.current": "7\n",
}
FIRST_VERSION = {
    "cpuacct.usage": "1500999\n",
    "memory.usage_in_bytes": "9000\n",
    "memory.stat": "inactive_file 1\ntotal_inactive_file 3000\n",
    "blkio.throttle.io_service_bytes_recursive": "8:0 Read 10\n8:0 Write 22\n8:0 Total 32\n8:16 Read 1\nTotal 33\n",
    "pids.current": "7\n",
}


@given(SAMPLES, st.binary(max_size=samples.RECORD.size - 1))
def test_records_are_read_as_they_were_written(written: list[Sample], half: bytes) -> None:
    assert samples.decode(samples.encode(written) + half) == written


@given(SAMPLES)
def test_every_second_record_stays_and_the_last(written: list[Sample]) -> None:
    kept = samples.decode(samples.thinned(samples.encode(written)))
    assert len(kept) == (len(written) + 1) // 2
    assert kept[-1:] == written[-1:]
    assert [each for each in written if each in kept] == [each for each in written if each in kept][: len(written)]


@given(st.floats(0, 1e7), st.floats(1, 1e8))
def test_who_is_old_is_looked_at_more_seldom(age: float, now: float) -> None:
    pause = samples.next_look(age, now) - now
    assert 0.5 <= pause <= 1.5 if age < 60 else 5 <= pause <= 15 if age < 3_600 else 30 <= pause <= 90


@pytest.mark.parametrize("files", [FIRST_VERSION, SECOND_VERSION])
def test_groups_of_both_versions_tell_the_same(tmp_path: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    assert gauges.find([str(tmp_path)]).read() == Counted(cpu=1500, memory=6000, read=11, written=22, processes=7)


def test_groups_that_lie_apart_are_read_together(tmp_path: Path) -> None:
    for name, content in FIRST_VERSION.items():
        folder = tmp_path / name.partition(".")[0]
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(content)
    found = gauges.find([str(folder) for folder in tmp_path.iterdir()]).read()
    assert found == Counted(cpu=1500, memory=6000, read=11, written=22, processes=7)


def test_a_group_whose_disks_were_never_used_says_so(tmp_path: Path) -> None:
    (tmp_path / "io.stat").write_text("")
    assert gauges.find([str(tmp_path)]).read() == Counted(read=0, written=0)


def test_a_group_that_counts_nothing_tells_nothing(tmp_path: Path) -> None:
    assert gauges.find([str(tmp_path)]).read() == gauges.find([]).read() == Counted()
    (tmp_path / "cpu.stat").write_text("nr_periods 0\nnr_throttled 0\n")
    found = gauges.find([str(tmp_path / "gone"), str(tmp_path)])
    assert found == Files()
    assert found.read() == Counted()
    assert Files(cpu=str(tmp_path / "gone")).read() == Counted()


def test_what_no_group_counts_is_asked_of_processes() -> None:
    found = Gauge(os.getpid(), ()).read(5)
    assert found.time == 5
    assert found.cpu > 0
    assert found.memory >= 0
    assert found.processes >= 0


def test_a_process_that_is_gone_uses_nothing() -> None:
    assert gauges.of_processes(2**22 + 1, [2**22 + 2]) == Counted(cpu=0, memory=0, processes=0)


def test_so_many_processes_are_not_looked_at_one_by_one() -> None:
    assert gauges.of_processes(1, [1] * (gauges.MOST_PROCESSES + 1)) == Counted()


def test_descendants_are_found() -> None:
    child = os.fork()
    if child == 0:
        os.read(os.pipe()[0], 1)
    try:
        assert child in list(descendants(os.getpid(), 1000))
        assert list(descendants(child, 10)) == []
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)


def ctypes_of(reference: Any) -> Any:
    """What a pointer leads to, as a library sees it."""
    return reference._obj  # noqa: SLF001 - ctypes has no other name for it


class FakeLibrary:
    """What the library of the driver answers."""

    def __init__(self, initial: int = 0) -> None:
        self.nvmlInit_v2 = lambda: initial

    def nvmlDeviceGetHandleByIndex_v2(self, number: ctypes.c_uint, device: Any) -> int:  # noqa: N802 - its own name
        ctypes_of(device).value = number.value + 1
        return 0 if number.value < 2 else 6

    def nvmlDeviceGetUtilizationRates(self, device: ctypes.c_void_p, load: Any) -> int:  # noqa: N802 - as above
        ctypes_of(load).gpu = 40 * (device.value or 0)
        return 0

    def nvmlDeviceGetMemoryInfo(self, device: ctypes.c_void_p, memory: Any) -> int:  # noqa: N802 - as above
        ctypes_of(memory).used = 100 * (device.value or 0)
        return 0


def test_accelerators_tell_how_busy_they_are() -> None:
    nvml = Nvml(FakeLibrary)
    assert nvml.read([0, 1]) == (1_200, 300)
    assert nvml.read([0]) == (400, 100)
    assert nvml.read([1, 2]) == (UNKNOWN, UNKNOWN)


def test_accelerators_without_a_driver_tell_nothing_and_it_is_looked_for_once() -> None:
    looks = SimpleNamespace(count=0)

    def load() -> None:
        looks.count += 1
        raise OSError("libnvidia-ml.so.1: cannot open shared object file")

    nvml = Nvml(load)
    assert [nvml.read([0]), nvml.read([0])] == [(UNKNOWN, UNKNOWN)] * 2
    assert looks.count == 1
    assert Nvml(lambda: FakeLibrary(initial=9)).read([0]) == (UNKNOWN, UNKNOWN)
