"""Where a replica stands after it was seen: every sighting of a replica in every state."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import product

import pytest

from pf_job.driving.seeing import seen
from pf_job.jobs.domain import ENDED, Job, Task, TaskKey, TaskState
from pf_job.jobs.life import Ending, Grant, Life
from pf_job.jobs.states import Stage
from pf_job.runtimes.port import Phase, Sighting
from pf_job.specs.domain import JobSpec, JobType, Work

NOW = datetime(2030, 1, 1, tzinfo=UTC)
KEY = TaskKey("j", 1, "main", 0)
SIGHTINGS = {
    "starting": Sighting(key=KEY, phase=Phase.STARTING),
    "running": Sighting(key=KEY, phase=Phase.RUNNING, machine="here", started=1_000_000),
    "well": Sighting(key=KEY, phase=Phase.ENDED, started=1_000_000, ended=2_000_000, status=0),
    "badly": Sighting(key=KEY, phase=Phase.ENDED, started=1_000_000, ended=2_000_000, status=3),
    "killed": Sighting(key=KEY, phase=Phase.ENDED, started=1_000_000, ended=2_000_000, signal=9),
    "lost": Sighting(key=KEY, phase=Phase.LOST, ended=2_000_000),
}
ENDS = {
    "well": TaskState.SUCCEEDED,
    "badly": TaskState.FAILED,
    "killed": TaskState.FAILED,
    "lost": TaskState.LOST,
}
"""Of a replica that nobody told to end."""
TOLD = dict.fromkeys(ENDS, TaskState.STOPPED)
AFTER = {
    TaskState.PENDING: {"starting": TaskState.PENDING, "running": TaskState.RUNNING, **ENDS},
    TaskState.RUNNING: {"starting": TaskState.RUNNING, "running": TaskState.RUNNING, **ENDS},
    TaskState.STOPPING: {"starting": TaskState.STOPPING, "running": TaskState.STOPPING, **TOLD},
    **{state: dict.fromkeys(SIGHTINGS, state) for state in ENDED},
}


def job(ending: Ending | None = None, attempt: int = 1) -> Job:
    life = Life(accept_time=NOW, stage=Stage.WATCH, attempt=attempt, ending=ending, grant=Grant("g", 1, "c", {}, NOW))
    return Job(id="j", owner="ann", type=JobType.SINGLE, spec=JobSpec(id="j", work=Work(command="true")), life=life)


@pytest.mark.parametrize(("state", "word"), list(product(TaskState, SIGHTINGS)))
def test_every_sighting_leads_where_the_table_says(state: TaskState, word: str) -> None:
    before = Task(key=KEY, state=state)
    after = seen(job(), before, SIGHTINGS[word])
    assert after.state is AFTER[state][word]
    if state in ENDED:
        assert after == before


@pytest.mark.parametrize("of", [job(ending=Ending.FAILED), job(attempt=2)], ids=["job ends", "attempt is past"])
def test_who_ends_with_its_job_was_stopped_unless_it_ended_well(of: Job) -> None:
    found = {word: seen(of, Task(key=KEY, state=TaskState.RUNNING), SIGHTINGS[word]).state for word in ENDS}
    assert found == {**TOLD, "well": TaskState.SUCCEEDED}


def test_what_was_seen_is_kept_when_less_is_seen_later() -> None:
    running = seen(job(), Task(key=KEY), SIGHTINGS["running"])
    over = seen(job(), running, SIGHTINGS["lost"])
    assert (over.machine, over.start_time) == ("here", datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=1))
    killed = seen(job(), running, SIGHTINGS["killed"])
    assert (killed.status, killed.signal) == (None, 9)
    assert killed.finish_time == datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=2)
