"""What is told of the starts of replicas is judged rightly: whatever is wrong with it is noticed."""

from __future__ import annotations

from dataclasses import replace

import jwt
import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from paddleflow.job.v1 import job_pb2, spec_pb2
from support.job_load import KINDS, Made
from support.job_starts import Line, Start, require_one_start_each

KIND = {kind.name: kind for kind in KINDS}
MASTER, SERVER, WORKER = spec_pb2.ROLE_MASTER, spec_pb2.ROLE_PSERVER, spec_pb2.ROLE_WORKER
ENDPOINTS = ("h:1", "h:2,h:3")
CREW = [
    Line(Start(1, "master", 0, 0), ENDPOINTS),
    Line(Start(1, "pserver", 0, 0), ENDPOINTS),
    Line(Start(1, "worker", 0, 0), ENDPOINTS),
    Line(Start(1, "worker", 1, 0), ENDPOINTS),
]


def task(role: spec_pb2.Role.ValueType, begun: int, index: int = 0, *, ended: bool = True) -> job_pb2.Task:
    state = job_pb2.TASK_STATE_SUCCEEDED if ended else job_pb2.TASK_STATE_STOPPED
    start = Timestamp(seconds=begun) if begun else None
    return job_pb2.Task(attempt=1, role=role, index=index, state=state, start_time=start)


TASKS = [task(MASTER, 1, ended=False), task(SERVER, 2), task(WORKER, 3), task(WORKER, 3, 1)]


def judge(lines: list[Line], tasks: list[job_pb2.Task], kind: str = "crew") -> None:
    require_one_start_each(Made("job", KIND[kind]), lines, tasks)


def test_a_line_tells_which_start_it_is() -> None:
    token = jwt.encode({"jti": "7/2/worker/1/3"}, "key" * 16)
    assert Line.parse(f"started {token} h:1 h:2,h:3") == Line(Start(2, "worker", 1, 3), list(ENDPOINTS))


def test_a_crew_that_was_started_well() -> None:
    judge(CREW, TASKS)


def test_who_was_told_to_begin_and_is_not_known_to_have_run_may_have() -> None:
    judge(CREW[:2], [*TASKS[:2], task(WORKER, 3, ended=False), task(WORKER, 0, 1, ended=False)])


@pytest.mark.parametrize(
    ("lines", "tasks", "wrong"),
    [
        ([*CREW, CREW[0]], TASKS, "started twice"),
        (CREW[1:], [task(MASTER, 1), *TASKS[1:]], "told"),
        (CREW, [task(MASTER, 0, ended=False), *TASKS[1:]], "told"),
        (CREW, [*TASKS[:1], task(SERVER, 4), *TASKS[2:]], "in no order"),
        ([*CREW[:3], replace(CREW[3], endpoints=("h:1", "h:2,h:4"))], TASKS, "was told"),
        ([replace(line, endpoints=("h:1", "h:1,h:2")) for line in CREW], TASKS, "was told"),
    ],
)
def test_whatever_is_wrong_is_noticed(lines: list[Line], tasks: list[job_pb2.Task], wrong: str) -> None:
    with pytest.raises(AssertionError, match=wrong):
        judge(lines, tasks)


def test_a_job_that_is_tried_again_is_tried_as_often_as_it_says() -> None:
    attempts = (1, 2, 3)
    tries = [Line(Start(attempt, "main", 0, 0), ()) for attempt in attempts]
    begun = Timestamp(seconds=1)
    tasks = [job_pb2.Task(attempt=attempt, role=spec_pb2.ROLE_MAIN, start_time=begun) for attempt in attempts]
    judge(tries, tasks, "retried")
    with pytest.raises(AssertionError, match="was tried 2 times"):
        judge(tries[:2], tasks[:2], "retried")
