"""Limits, as control groups know them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pf_job.runtimes.local.accelerators import Accelerators, environment
from pf_job.runtimes.local.groups import Trees
from pf_job.runtimes.local.limits import (
    Limits,
    first_version,
    killed_for_memory,
    notes,
    refused_processes,
    second_version,
)

ALL = Limits(cpu=1_500, memory=2**30, processes=20, shares=250)


def test_limits_in_trees_of_their_own() -> None:
    assert first_version(ALL) == {
        "cpu": [("cpu.shares", "256"), ("cpu.cfs_period_us", "100000"), ("cpu.cfs_quota_us", "150000")],
        "memory": [("memory.limit_in_bytes", str(2**30)), ("memory.memsw.limit_in_bytes", str(2**30))],
        "pids": [("pids.max", "20")],
    }


def test_limits_in_one_tree() -> None:
    assert second_version(ALL) == {
        "cpu": [("cpu.weight", "25"), ("cpu.max", "150000 100000")],
        "memory": [("memory.max", str(2**30)), ("memory.swap.max", "0")],
        "pids": [("pids.max", "20")],
    }


def test_without_limits_there_are_no_groups() -> None:
    assert first_version(Limits()) == second_version(Limits()) == {}


@given(st.integers(0, 10**7))
def test_the_kernel_takes_every_share(shares: int) -> None:
    assert 2 <= int(first_version(Limits(shares=shares))["cpu"][0][1]) <= 262_144
    assert 1 <= int(second_version(Limits(shares=shares))["cpu"][0][1]) <= 10_000


@pytest.mark.parametrize(
    ("events", "killed"),
    [
        ("oom 1\noom_kill 1\n", True),
        ("oom_kill_disable 0\nunder_oom 0\noom_kill 0\n", False),
        ("low 0\nhigh 0\n", False),
        ("", False),
    ],
)
def test_a_death_for_want_of_memory_is_told_apart(events: str, killed: bool) -> None:
    assert killed_for_memory(events) == killed


@pytest.mark.parametrize(("events", "refused"), [("max 0\n", False), ("max 3\n", True), ("", False)])
def test_a_refused_process_is_seen_in_the_counts_of_the_kernel(events: str, refused: bool) -> None:
    assert refused_processes(events) == refused


def test_what_nobody_enforces_is_told() -> None:
    (note,) = notes(ALL, frozenset({"cpu"}))
    assert "memory, processes" in note
    assert notes(ALL, frozenset({"cpu", "memory", "pids"})) == ()
    assert notes(Limits(shares=5), frozenset()) == ()


def test_groups_that_cannot_be_made_leave_nothing(tmp_path: Path) -> None:
    for name in ("cpu", "pids"):
        (tmp_path / name).mkdir()
    # Folders in which no files appear by themselves, as they do in a control group: writing a limit makes one.
    made = Trees({"cpu": str(tmp_path / "cpu"), "pids": str(tmp_path / "pids")}, unified=False).make("leaf", ALL)
    assert made == (str(tmp_path / "cpu/leaf"), str(tmp_path / "pids/leaf"))
    assert (tmp_path / "pids/leaf/pids.max").read_text() == "20"
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        Trees({"cpu": str(tmp_path / "cpu"), "pids": str(tmp_path / "file")}, unified=False).make("other", ALL)
    assert not (tmp_path / "cpu/other/cpu.shares").exists()


@given(st.lists(st.integers(0, 4)), st.integers(0, 8))
def test_no_accelerator_is_had_twice(wishes: list[int], count: int) -> None:
    devices = Accelerators(count)
    held: list[tuple[int, ...]] = []
    for wish in wishes:
        taken = devices.take(wish)
        if taken is None:
            assert wish > count - sum(map(len, held))
            if held:
                devices.give_back(held.pop())
        else:
            held.append(taken)
        had = [number for numbers in held for number in numbers]
        assert len(had) == len(set(had))
        assert set(had) <= set(range(count))


def test_who_has_no_accelerator_is_shown_none() -> None:
    assert environment(()) == {"CUDA_VISIBLE_DEVICES": "", "NVIDIA_VISIBLE_DEVICES": "void"}
    assert environment((1, 3))["CUDA_VISIBLE_DEVICES"] == "1,3"
