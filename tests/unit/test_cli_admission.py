"""What is said of workloads on the command line, beyond what the transcripts show."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections.abc import Iterator
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddleflow.cli.parameters import duration, lasting
from paddleflow.cli.supposition import read_supposition
from paddleflow.models import (
    GoneNode,
    Node,
    OrderPolicy,
    PendingReason,
    PreemptionPolicy,
    Queue,
    RoleRequest,
    Workload,
    WorkloadKey,
)
from paddleflow.problems import InvalidArgument, NoLeader
from paddleflow.queue.v1 import admission_pb2, queue_pb2
from support.command_line import CommandLine
from support.fake_admission import occupy
from support.fake_paddleflow import FakePaddleFlow
from support.repository import BIN, ROOT

ALL = b"""
workloads:
  - job: train
    attempt: 2
    queue: team
    user: bob
    priority: 1000
    gracePeriod: 30s
    minRunTime: 1h
    roles:
      ps: {resources: {cpu: 500m}}
      worker: {replicas: 2, maxReplicas: 8, step: 2, resources: {cpu: 2, mem: 4Gi}}
  - {queue: team, replicas: 3, resources: {nvidia.com/gpu: 1}}
queues:
  - {name: team, max: {cpu: 8, memory: null}, weight: 200, policy: strict-fifo, preemption: never, maxJobs: 3}
nodes:
  - {cluster: c, name: n, allocatable: {cpu: 4}, dedicatedQueue: team}
gone:
  - {cluster: c, name: m}
"""


def test_all_that_can_be_supposed_is_read() -> None:
    found = read_supposition(ALL, "alice")
    ps, worker = (
        RoleRequest("ps", 1, {"cpu": 500}),
        RoleRequest("worker", 2, {"cpu": 2000, "memory": 2**32}, 8, 2),
    )
    grace, shield = timedelta(seconds=30), timedelta(hours=1)
    assert found.workloads == [
        Workload(WorkloadKey("train", 2), "team", "bob", [ps, worker], 1000, grace, shield),
        Workload(WorkloadKey("workloads-1", 1), "team", "alice", [RoleRequest("worker", 3, {"nvidia.com/gpu": 1})]),
    ]
    assert found.nodes == [Node("n", {"cpu": 4000}, dedicated_queue="team", cluster="c")]
    assert found.gone == [GoneNode("c", "m")]


def test_a_queue_stays_as_it_is_but_for_what_is_said() -> None:
    [(name, change)] = read_supposition(ALL, "alice").queues
    before = Queue("team", min={"cpu": 1000}, max={"cpu": 2000, "memory": 5, "x": 1}, weight=100, max_jobs_per_user=9)
    assert name == "team"
    assert change(before) == Queue(
        "team",
        min={"cpu": 1000},
        max={"cpu": 8000, "x": 1},
        weight=200,
        max_jobs_per_user=9,
        max_jobs=3,
        order_policy=OrderPolicy.STRICT_FIFO,
        preemption_policy=PreemptionPolicy.NEVER,
    )


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("{", "file: is neither YAML nor JSON"),
        ("[]", "file: is not a mapping of gone, nodes, queues, workloads"),
        ("{}", "file: supposes nothing"),
        ("workloads: 3", "workloads: is not a list"),
        ("workloads: [{replicas: 1}]", r"workloads\[0\].queue: is missing"),
        ("workloads: [{queue: q, replicas: many}]", r"workloads\[0\].replicas: 'many' is not a whole number"),
        ("workloads: [{queue: q, resources: {cpu: 1x}}]", r"workloads\[0\].resources.cpu: '1x' is not a quantity"),
        ("workloads: [{queue: q, replicas: 2, roles: {}}]", r"so replicas belong into each of them"),
        ("workloads: [{queue: q, roles: [worker]}]", r"workloads\[0\].roles: is not a mapping"),
        ("workloads: [{queue: q, roles: {worker: {count: 2}}}]", r"workloads\[0\].roles.worker: has no count"),
        ("workloads: [{queue: q, gracePeriod: 30}]", r"workloads\[0\].gracePeriod: '30' is not a duration"),
        ("queues: [{name: q, max: 8}]", r"queues\[0\].max: is not a mapping of resources"),
        ("queues: [{name: q, policy: fast}]", r"queues\[0\].policy: 'fast' is not one of"),
        ("nodes: [{name: n}]", r"nodes\[0\].cluster: is missing"),
        ("gone: [{cluster: c}]", r"gone\[0\].name: is missing"),
    ],
)
def test_what_is_wrong_with_a_supposition_is_told_by_its_place(text: str, wrong: str) -> None:
    with pytest.raises(InvalidArgument, match=wrong):
        read_supposition(text.encode(), "alice")


def test_a_queue_is_supposed_from_how_it_stands(fake: FakePaddleFlow, command_line: CommandLine) -> None:
    occupy(fake.world)
    command_line.output("queue create team default 4 8Gi --mincpu 2")
    command_line.output("queue simulate -f -", typed="{queues: [{name: team, max: {cpu: 6}}]}")
    [asked] = fake.world.asked(admission_pb2.SimulateRequest)
    assert dict(asked.queues[0].max.amounts) == {"cpu": 6000, "memory": 2**33}
    assert dict(asked.queues[0].min.amounts) == {"cpu": 2000}


def test_one_workload_is_supposed_by_options(fake: FakePaddleFlow, command_line: CommandLine) -> None:
    command_line.output("queue simulate --queue q --cpu 2 --gpu 1 --replicas 3 --max-replicas 5 --priority -7")
    [asked] = fake.world.asked(admission_pb2.SimulateRequest)
    [workload] = asked.workloads
    [role] = workload.roles
    assert (workload.queue, workload.user, workload.priority) == ("q", "root", -7)
    assert (role.min_replicas, role.max_replicas) == (3, 5)
    assert dict(role.per_replica.amounts) == {"cpu": 2000, "nvidia.com/gpu": 1}


def test_a_job_without_attempt_is_resumed_by_its_last(fake: FakePaddleFlow, command_line: CommandLine) -> None:
    occupy(fake.world)
    fake.world.workloads["stuck"].key.attempt = 4
    command_line.output("queue resume stuck")
    [asked] = fake.world.asked(admission_pb2.ResumeWorkloadRequest)
    assert asked.key.attempt == 4


def test_a_simulation_tells_where_somebody_would_stand_and_what_is_left_out(
    fake: FakePaddleFlow, command_line: CommandLine
) -> None:
    waits = fake.world.simulated.workloads.add()
    waits.waiting.message = "Others leave."
    waits.waiting.position.position, waits.waiting.position.waiting = 2, 3
    fake.world.simulated.horizon.FromSeconds(90)
    fake.world.simulated.cut_off = True
    told = command_line.output("queue simulate --queue q --cpu 1 -o text")
    assert "Others leave. It would stand 2. of 3." in told
    assert "more would be decided; this is what would be in the first 1m30s" in told


def test_what_is_not_known_to_be_used_is_not_shown_as_nothing(fake: FakePaddleFlow, command_line: CommandLine) -> None:
    command_line.output("queue create busy default 8 16Gi")
    assert "used 0" in command_line.output("queue tree")
    [known] = json.loads(command_line.output("queue tree -o json"))
    fake.world.queues["busy"].ClearField("used")
    told = command_line.output("queue tree")
    assert "used ?" in told
    assert "used 0" not in told
    [unknown] = json.loads(command_line.output("queue tree -o json"))
    assert (known["used"], unknown["used"]) == ({}, None)


@pytest.fixture
def topping(fake: FakePaddleFlow, command_line: CommandLine) -> Iterator[subprocess.Popen[str]]:
    """`paddleflow queue top --watch` of one queue, into a pipe."""
    occupy(fake.world)
    fake.world.queues = {"busy": queue_pb2.Queue(name="busy")}
    with subprocess.Popen(
        [str(BIN / "paddleflow"), "queue", "top", "--watch", "--every", "0.1"],
        env={"PADDLEFLOW_CONFIG": str(command_line.config)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        yield process
        process.kill()


def test_top_looks_again_and_again_and_ends_quietly(topping: subprocess.Popen[str]) -> None:
    assert topping.stdout is not None
    lines = [topping.stdout.readline() for _ in range(6)]
    topping.send_signal(signal.SIGINT)
    _, err = topping.communicate(timeout=20)
    assert (topping.returncode, err) == (130, "")
    assert [bool(re.fullmatch(r"\d\d:\d\d:\d\d\n", line)) for line in lines] == [True, False, False] * 2
    assert lines[1] == lines[4]
    assert "\x1b" not in "".join(lines)


def test_top_goes_on_when_somebody_leads_again(fake: FakePaddleFlow, topping: subprocess.Popen[str]) -> None:
    assert topping.stdout is not None
    assert topping.stderr is not None
    assert topping.stdout.readline()
    fake.world.failing = {"ListLoads": NoLeader("there is no leader")}
    assert topping.stderr.readline() == "there is no leader; trying again\n"
    fake.world.loads[0].waiting = 77
    fake.world.failing = {}
    assert any("waiting 77" in line for line in iter(topping.stdout.readline, ""))


def test_top_of_a_server_that_does_not_lead_from_the_start_fails(
    fake: FakePaddleFlow, command_line: CommandLine
) -> None:
    fake.world.failing = {"ListLoads": NoLeader("there is no leader")}
    assert command_line.run("queue top --watch").exit_code == 3


@pytest.mark.parametrize("every", ["nan", "inf", "0", "-1"])
def test_a_time_between_two_looks_is_a_time(command_line: CommandLine, every: str) -> None:
    assert command_line.run(f"queue top --watch --every {every}").exit_code == 2


def test_help_shows_an_example_as_it_is_written(command_line: CommandLine) -> None:
    lines = command_line.run("queue simulate --help").stdout.splitlines()
    at = lines.index("  gone:")
    assert lines[at + 1 : at + 3] == ["    - {cluster: default-cluster, name: node-1}", ""]


def test_every_reason_is_told_of_in_the_page_on_admission() -> None:
    page = (ROOT / "docs" / "howto" / "admission.md").read_text()
    assert [reason for reason in PendingReason if reason and f"\n| `{reason}` |" not in page] == []


def test_top_in_json_can_be_read(fake: FakePaddleFlow, command_line: CommandLine) -> None:
    occupy(fake.world)
    command_line.output("queue create busy default 8 16Gi")
    [told] = json.loads(command_line.output("queue top -o json"))
    assert (told["leaving"], told["kept"], told["waiting"]) == ({"cpu": "6"}, {"cpu": "4"}, 1)


def test_jobs_are_completed(fake: FakePaddleFlow, command_line: CommandLine) -> None:
    occupy(fake.world)
    environ = {
        "PADDLEFLOW_CONFIG": str(command_line.config),
        "_PADDLEFLOW_COMPLETE": "bash_complete",
        "COMP_WORDS": "paddleflow queue explain s",
        "COMP_CWORD": "3",
    }
    done = subprocess.run([BIN / "paddleflow"], env=environ, capture_output=True, text=True)
    assert done.stdout.splitlines() == ["plain,stuck"]


@pytest.mark.parametrize(
    ("seconds", "told"), [(0, "0s"), (59.6, "1m"), (90, "1m30s"), (3600, "1h"), (90061, "1d1h"), (14 * 86400, "2w")]
)
def test_a_time_is_told_in_two_units(seconds: float, told: str) -> None:
    assert lasting(timedelta(seconds=seconds)) == told


@given(st.integers(1, 10**8))
def test_a_time_is_read_as_it_is_told(seconds: int) -> None:
    assert lasting(duration("grace", lasting(timedelta(seconds=seconds)))) == lasting(timedelta(seconds=seconds))
