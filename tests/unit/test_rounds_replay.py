"""Whatever an engine was told, a replay of its log comes to the same bytes."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pf_queue.admission.core.decisions import Evict
from pf_queue.admission.core.pool import Pool
from pf_queue.admission.domain import DecisionKind, Record
from pf_queue.admission.engine import Engine
from pf_queue.admission.journal.inputs import Arrange, Opening, Release, Resize, Resume, Round, Running, Submit, Update
from pf_queue.admission.journal.replay import Begun, Replayed, replay
from pf_queue.admission.journal.segments import segments
from support.repository import ROOT
from support.rounds import Life, file_log, replayed


@settings(max_examples=60, deadline=None)
@given(chance=st.randoms(use_true_random=False), steps=st.integers(1, 60))
def test_a_random_life_is_replayed_to_the_same_bytes(chance: random.Random, steps: int) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        with file_log(folder) as log:
            Life(chance, log).live(steps)
        for turn in replayed(folder):
            assert turn.difference is None
            assert not turn.fault


@pytest.mark.parametrize("seed", range(10))
async def test_an_engine_that_is_renewed_goes_on_in_another_segment(tmp_path: Path, seed: int) -> None:
    with file_log(tmp_path) as log:
        life = Life(random.Random(seed), log)
        for _ in range(5):
            life.live(60)
            assert await life.engine.renew(life.now)
    assert len(segments(tmp_path)) == 6
    assert not any(turn.difference or turn.fault for turn in replayed(tmp_path))


@pytest.fixture(scope="module")
def lives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Logs of lives in which all there is was decided."""
    folder = tmp_path_factory.mktemp("lives")
    with file_log(folder) as log:
        for seed in range(30):
            life = Life(random.Random(seed), log)
            life.live(100)
            life.reload()
            life.live(20)
    return folder


def test_lives_hold_every_input_and_every_decision(lives: Path) -> None:
    turns = replayed(lives)
    told = {type(told) for turn in turns for told, _ in turn.inputs}
    assert told == {Arrange, Submit, Release, Resize, Update, Running, Resume, Round}
    assert {each.kind for turn in turns for each in turn.decided} == set(DecisionKind)


@pytest.mark.parametrize("hash_seed", ["1", "2", "3"])
def test_a_process_that_hashes_otherwise_comes_to_the_same_bytes(lives: Path, hash_seed: str) -> None:
    program = "import sys; from pathlib import Path; from support.rounds import replayed;"
    program += "turns = replayed(Path(sys.argv[1]));"
    program += "print(len(turns), sum(turn.difference is not None or turn.fault != '' for turn in turns))"
    paths = {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT / "tests")}
    ran = subprocess.run(
        [sys.executable, "-c", program, lives], env=os.environ | paths, capture_output=True, text=True, check=True
    )
    assert ran.stdout.split() == [str(len(replayed(lives))), "0"]


class Forgetful(Begun):
    """Decides one thing otherwise: it lets a workload grow by one less in what it tells."""

    def _grown(self, record: Record, role: int, count: int, now: int) -> None:
        super()._grown(record, role, count - 1, now)


class Stubborn(Begun):
    """Never evicts."""

    def _evicted(self, record: Record, decision: Evict, now: int) -> None:
        """Leaves it as it is."""


def first_differing(folder: Path, begin: Callable[[Opening], Engine]) -> Replayed:
    for path in segments(folder):
        for step in replay(path, begin):
            if isinstance(step, Replayed) and step.difference is not None:
                return step
    raise AssertionError("nothing differs")


def test_the_first_decision_that_differs_is_named(lives: Path) -> None:
    grown = first_differing(lives, Forgetful)
    assert grown.difference is not None
    assert grown.difference.field.startswith("decided ")
    assert grown.difference.field.endswith(": replicas")


def test_a_replay_ends_with_the_first_turn_that_differs(lives: Path) -> None:
    for path in segments(lives):
        turns = [step for step in replay(path) if isinstance(step, Replayed)]
        evicting = [turn.turn for turn in turns if any(each.kind is DecisionKind.EVICT for each in turn.decided)]
        *same, last = [step for step in replay(path, Stubborn) if isinstance(step, Replayed)] or turns[:1]
        assert all(turn.difference is None for turn in same)
        assert [last.turn] == evicting[:1] or last.difference is None


def test_what_was_not_stored_is_said(tmp_path: Path) -> None:
    with file_log(tmp_path) as log:
        life = Life(random.Random(1), log)
        life.live(60)
        life.submit_one()
        life.engine.round(life.now)
        life.engine.effects()
        life.reload()
    first, second = ([step for step in replay(path) if isinstance(step, Replayed)] for path in segments(tmp_path))
    assert [turn.stored for turn in first] == [True] * (len(first) - 1) + [False]
    assert first[-1].difference is None
    assert not second


def test_a_fault_of_an_engine_is_in_the_log_and_comes_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("a fault")

    with file_log(tmp_path) as log:
        life = Life(random.Random(1), log)
        life.live(60)
        monkeypatch.setattr(Pool, "round", fail)
        life.submit_one()
        with pytest.raises(AssertionError):
            life.engine.round(life.now)
        life.engine.abandoned()
    monkeypatch.undo()
    *before, last = replayed(tmp_path)
    assert not any(turn.fault or turn.difference for turn in before)
    assert (last.stored, last.fault, last.difference) == (False, "", None)
