"""How people are told of the number of replicas of an elastic job."""

from __future__ import annotations

import json

from paddleflow.job.v1 import job_pb2, spec_pb2
from support.command_line import CommandLine
from support.fake_jobs import employ
from support.fake_paddleflow import FakePaddleFlow


def elastic(fake: FakePaddleFlow, running: int, replicas: int) -> None:
    """The job `trained` with so many workers that run, of so many that are to."""
    employ(fake.world)
    job = fake.world.jobs["trained"]
    job.state = job_pb2.JOB_STATE_RUNNING
    job.spec.members[0].max_replicas = 8
    del job.roles[:]
    job.roles.add(role=spec_pb2.ROLE_WORKER, replicas=replicas, running=running)


def test_it_is_told_how_many_run_and_how_many_there_can_be(fake: FakePaddleFlow, command_line: CommandLine) -> None:
    elastic(fake, 4, 4)
    assert "  replicas  4 of 2-8 worker run\n" in command_line.output("job explain trained")
    [row] = json.loads(command_line.output("job show trained -o json"))
    assert row["replicas"] == {"worker": "4/4 (2-8)"}


def test_it_is_told_how_many_there_are_to_be_while_it_grows(fake: FakePaddleFlow, command_line: CommandLine) -> None:
    elastic(fake, 4, 6)
    assert "  replicas  4 of 2-8 worker run, 6 are to\n" in command_line.output("job explain trained")
