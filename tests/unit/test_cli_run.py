"""What `paddleflow run` says of runs that go on, of documents that are wrong, and of what would be."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import paddleflow
from paddleflow.cli.node_words import remark, span, waiting
from paddleflow.cli.output import Printer
from paddleflow.cli.run_logs import named
from paddleflow.cli.run_watch import Seen, after, matches, print_changes, watch_run
from paddleflow.cli.table import Form
from paddleflow.common.v1 import event_pb2
from paddleflow.job.v1 import log_pb2, spec_pb2
from paddleflow.models import (
    Bookmark,
    Change,
    ChangeKind,
    NodeState,
    NodeWaiting,
    Reset,
    Run,
    RunHappening,
    RunNode,
    RunState,
    Source,
    WatchItem,
)
from paddleflow.pipeline.v1 import pipeline_pb2, run_pb2
from paddleflow.problems import ShuttingDown
from support.command_line import CommandLine
from support.fake_paddleflow import FakePaddleFlow
from support.fake_pipeline_runs import at, prepared, train
from support.fake_services import PASSWORD, Stream

BEGAN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
WAITS = RunNode(path="b", name="b", deps=("a", "c"), state=NodeState.PENDING)


def happened(
    number: int, path: str = "", *, what: str = "started", message: str = "", **told: int
) -> run_pb2.Happening:
    happening = run_pb2.Happening(number=number, time=at(number), path=path, what=what, message=message)
    happening.node_state = told.get("node", 0)  # type: ignore[assignment]  # a number is an enum on the wire
    happening.run_state = told.get("run", 0)  # type: ignore[assignment]  # as above
    happening.attempt = told.get("attempt", 0)
    return happening


def stream(*happenings: run_pb2.Happening) -> Stream:
    return Stream([run_pb2.WatchHappeningsResponse(happenings=[each]) for each in happenings])


GOING = (
    happened(1, what="running", run=run_pb2.RUN_STATE_RUNNING),
    happened(2, "prepare", node=run_pb2.NODE_STATE_RUNNING),
    happened(3, "prepare", what="retried", node=run_pb2.NODE_STATE_RUNNING, attempt=2, message="exit status 3"),
    happened(4, "later", node=run_pb2.NODE_STATE_SUCCEEDED),
    happened(5, what="failed", run=run_pb2.RUN_STATE_FAILED, message="node prepare failed"),
)


def test_events_are_told_as_they_come(fake: FakePaddleFlow, command_line: CommandLine) -> None:
    fake.world.streams = [
        Stream([run_pb2.WatchHappeningsResponse(happenings=[GOING[0]])], ends_with=ShuttingDown("later")),
        stream(*GOING[1:]),
    ]
    lines = command_line.output("run events run-000001 -f").splitlines()
    assert lines[0] == "   1  2026-01-02T03:04:06+00:00  running       run  running"
    assert lines[2] == "   3  2026-01-02T03:04:08+00:00  retried       prepare  running    exit status 3"
    assert len(lines) == 5
    assert [each.after for each in fake.world.asked(run_pb2.WatchHappeningsRequest)] == [0, 1]


def test_events_come_page_by_page(fake: FakePaddleFlow, command_line: CommandLine) -> None:
    fake.world.streams = [stream(*GOING), stream(*GOING[2:]), stream(*GOING[:1])]
    told = json.loads(command_line.output("run events run-000001 -m 2 -o json"))
    assert [each["number"] for each in told] == [1, 2]
    assert command_line.output("run events run-000001 -m 2 -mk 2").splitlines()[-1] == "marker: 4"
    assert json.loads(command_line.output("run events run-000001 -f -o json"))["run status"] == "running"


def test_a_run_is_watched_in_lines(fake: FakePaddleFlow, command_line: CommandLine) -> None:
    fake.world.streams = [stream(*GOING)]
    assert command_line.output("run watch run-000001").splitlines() == [
        "03:04:06  running      the run",
        "03:04:07  running      prepare",
        "03:04:08  running      prepare  try 2  exit status 3",
        "03:04:09  succeeded    later",
        "03:04:10  failed       the run  node prepare failed",
    ]


def test_a_run_is_watched_on_a_terminal(fake: FakePaddleFlow, capsys: pytest.CaptureFixture[str]) -> None:
    train(fake.world)
    fake.world.streams = [stream(*GOING)]
    with paddleflow.connect(fake.address, user="root", password=PASSWORD) as client:
        watch_run(client, "run-000001", Printer(Form.TABLE, terminal=True))
    told = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    assert "run-000001 (training) failed, 5 of 5 steps over (1 failed, 1 skipped, 1 from the cache)" in told
    assert re.search(r"fit .2 +failed", told)
    # The last picture stays, also for whoever interrupts the watch.
    assert told.rstrip().rpartition("run-000001 (training)")[2].count("prepare") == 1
    # What was not known was asked for: the iterations of a loop, for example.
    assert len(fake.world.asked(run_pb2.ListNodesRequest)) == 3


def test_what_happens_changes_what_is_known() -> None:
    node = RunNode(path="a", name="a", state=NodeState.PENDING, waiting=NodeWaiting.ENGINE)
    seen = Seen(Run(id="run-000001"), {"a": node})
    begun = RunHappening(number=1, path="a", time=BEGAN, node_state=NodeState.RUNNING, attempt=1, job_id="job-1")
    ended = replace(begun, number=2, time=BEGAN + timedelta(seconds=3), node_state=NodeState.FAILED, message="status 3")
    seen.take(begun)
    running = seen.nodes["a"]
    assert (running.state, running.start_time, running.job_id) == (NodeState.RUNNING, BEGAN, "job-1")
    assert (running.waiting, running.finish_time) == (NodeWaiting.UNSPECIFIED, None)
    seen.take(ended)
    failed = seen.nodes["a"]
    assert (failed.start_time, failed.finish_time, failed.message) == (BEGAN, ended.time, "status 3")
    again = after(failed, replace(begun, number=3, attempt=2, node_state=NodeState.PENDING))
    assert (again.finish_time, again.message, again.attempt) == (None, "", 2)
    seen.take(RunHappening(number=4, run_state=RunState.FAILED))
    assert (seen.run.state, seen.knows(replace(begun, path="b"))) == (RunState.FAILED, False)


def test_a_wait_ends_as_the_run_does(fake: FakePaddleFlow, command_line: CommandLine) -> None:
    def state(state: run_pb2.RunState.ValueType, version: int) -> run_pb2.WatchRunsResponse:
        steps = run_pb2.StepCounts(waiting=1, succeeded=2)
        run = run_pb2.Run(id="run-000001", state=state, version=version, steps=steps)
        event = run_pb2.RunEvent(kind=event_pb2.CHANGE_KIND_UPDATED, run=run)
        return run_pb2.WatchRunsResponse(events=[event], resume_token="t")

    good = [state(run_pb2.RUN_STATE_RUNNING, 1), state(run_pb2.RUN_STATE_SUCCEEDED, 2)]
    fake.world.streams = [Stream(good, silent=True)]
    result = command_line.run("run wait run-000001")
    assert (result.exit_code, result.stdout) == (0, "run[run-000001] succeeded\n")
    assert result.stderr == "run[run-000001] running\n"
    fake.world.streams = [Stream([state(run_pb2.RUN_STATE_TERMINATED, 1)], silent=True)]
    assert command_line.run("run wait run-000001").exit_code == 1
    fake.world.streams = [Stream([state(run_pb2.RUN_STATE_RUNNING, 1)], silent=True)]
    late = command_line.run("run wait run-000001 --timeout 1s")
    assert late.exit_code == 124
    assert "not over after 1s: run[run-000001]" in late.stderr


WRONG = [
    pipeline_pb2.Problem(path="entry_points.b.deps", message="'c' is no step; did you mean 'a'?", line=7, column=11),
    pipeline_pb2.Problem(path="nam", message="is unknown; did you mean name?", line=1, column=1),
]


def test_all_that_is_wrong_is_told_with_its_place(
    fake: FakePaddleFlow, command_line: CommandLine, tmp_path: Path
) -> None:
    file = tmp_path / "run.yaml"
    file.write_text("nam: greeting\n")
    fake.world.document_problems = WRONG
    told = [f"{file}:1:1: nam: is unknown; did you mean name?", f"{file}:7:11: {WRONG[0].path}: {WRONG[0].message}"]
    created = command_line.run(f"run create -yr {file}")
    assert created.exit_code == 1
    assert created.stderr.splitlines() == [
        f"run create failed with message[2 things are wrong with {file}:",
        f"  {told[0]}",
        f"  {told[1]}]",
    ]
    checked = command_line.run(f"run validate {file}")
    assert (checked.exit_code, sorted(checked.stdout.splitlines())) == (1, told)
    table = json.loads(command_line.run(f"pipeline validate {file} -o json").stdout)
    assert [each["line"] for each in table] == [7, 1]
    fake.world.document_problems = WRONG[1:]
    assert command_line.run(f"pipeline create --file {file}").stderr == (
        f"pipeline create failed with message[{told[0]}]\n"
    )
    fake.world.document_problems = []
    assert command_line.output(f"run validate {file}") == f"{file} is a pipeline that can be run\n"


def test_what_is_wrong_with_a_request_is_told_beside_the_document(
    fake: FakePaddleFlow, command_line: CommandLine
) -> None:
    fake.world.document_problems = [pipeline_pb2.Problem(path="parameters.x", message="is not one of any component")]
    result = command_line.run("run create -f ppl -p x=1")
    assert "parameters.x: is not one of any component" in result.stderr
    assert "run.yaml:" not in result.stderr.replace("wrong with ./run.yaml:", "")


@pytest.mark.parametrize(
    ("content", "why"), [(b"", "is empty"), (b"\xff", "is not in UTF-8")], ids=["empty", "not text"]
)
def test_a_file_that_is_no_document_is_not_sent(
    fake: FakePaddleFlow, command_line: CommandLine, tmp_path: Path, content: bytes, why: str
) -> None:
    (tmp_path / "run.yaml").write_bytes(content)
    result = command_line.run(f"run create -yr {tmp_path / 'run.yaml'}")
    assert (result.exit_code, why in result.stderr) == (1, True)
    assert fake.world.asked(run_pb2.CreateRunRequest) == []


def test_options_reach_the_service(fake: FakePaddleFlow, command_line: CommandLine) -> None:
    command_line.output(
        "run create -f ppl -yr - -n mine -d why -u alice -p a=b=c -p d.e=1 --disabled a,b --disabled c -de image:1 "
        "--failure-strategy continue --fresh fit --no-jobs",
        typed="name: greeting",
    )
    (asked,) = fake.world.asked(run_pb2.CreateRunRequest)
    assert asked.source == pipeline_pb2.Source(document="name: greeting", filesystem="ppl")
    assert (asked.name, asked.description, asked.owner, asked.docker_env) == ("mine", "why", "alice", "image:1")
    assert {name: value.string_value for name, value in asked.parameters.items()} == {"a": "b=c", "d.e": "1"}
    assert (list(asked.disabled), list(asked.fresh)) == (["a", "b", "c"], ["fit"])
    assert (asked.failure_strategy, asked.executor) == (run_pb2.FAILURE_STRATEGY_CONTINUE, run_pb2.EXECUTOR_NOTHING)


def test_a_plan_says_what_would_run(fake: FakePaddleFlow, command_line: CommandLine) -> None:
    nodes = fake.world.planned.nodes
    nodes.add(node=prepared(), prediction=run_pb2.CACHE_PREDICTION_HIT, message="cch-000001 fits")
    fit = run_pb2.Node(path="fit", name="fit", kind=run_pb2.NODE_KIND_DAG, deps=["prepare"], condition="5 > 3")
    nodes.add(node=fit)
    inner = run_pb2.Node(path="fit.train", name="train", kind=run_pb2.NODE_KIND_STEP, parent="fit")
    nodes.add(node=inner, prediction=run_pb2.CACHE_PREDICTION_OFF)
    tell = run_pb2.Node(path="tell", name="tell", message="it would wait for the approval of eve")
    nodes.add(node=tell, prediction=run_pb2.CACHE_PREDICTION_UNKNOWN, message="cached if fit.train writes the same")
    off = run_pb2.Node(path="off", name="off", state=run_pb2.NODE_STATE_SKIPPED, message="it is disabled")
    nodes.add(node=off)
    fake.world.planned.document = "name: training\n"
    assert command_line.output("run plan -f ppl").splitlines() == [
        "prepare  cached        cch-000001 fits",
        "fit                    after prepare; if 5 > 3",
        "  train  runs",
        "tell     maybe cached  it would wait for the approval of eve; cached if fit.train writes the same",
        "off      skipped       it is disabled",
        "5 nodes: 1 to run, 1 cached, 1 maybe cached, 1 skipped",
    ]
    assert command_line.output("run plan -f ppl --document") == "name: training\n"
    told = json.loads(command_line.output("run plan -f ppl -o json"))
    assert [(each["node"], each["cache"], each["why"]) for each in told] == [
        ("prepare", "hit", "cch-000001 fits"),
        ("fit", "", ""),
        ("fit.train", "off", ""),
        ("tell", "unknown", "cached if fit.train writes the same"),
        ("off", "", "it is disabled"),
    ]


def test_a_plan_says_what_it_leaves_out(fake: FakePaddleFlow, command_line: CommandLine) -> None:
    fake.world.planned.nodes.add(node=prepared(), prediction=run_pb2.CACHE_PREDICTION_OFF)
    fake.world.planned.left_out = 99_999
    said = "99999 more nodes are not told: further iterations of loops, or more than one answer can hold"
    assert command_line.output("run plan -f ppl").splitlines()[-1] == said
    result = command_line.run("run plan -f ppl -o json")
    assert [each["node"] for each in json.loads(result.stdout)] == ["prepare"]
    assert result.stderr.strip() == said


def test_a_node_is_explained(fake: FakePaddleFlow, command_line: CommandLine) -> None:
    train(fake.world)
    told = run_pb2.ExplainNodeResponse(node=prepared(), reasons=["it ran, and ended well", "no result fitted"])
    told.cache.MergeFrom(run_pb2.CacheExplanation(message="the command differs", nearest="cch-000001"))
    told.cache.differences.add(what="command", before="sh a.sh", now="sh b.sh")
    fake.world.node_explanations["prepare"] = told
    assert command_line.output("run explain run-000001 prepare").splitlines() == [
        "prepare: succeeded",
        "  it ran, and ended well",
        "  no result fitted",
        "cache: no hit, the command differs",
        "  what differs from cch-000001:",
        "    command: sh a.sh -> sh b.sh",
    ]
    (row,) = json.loads(command_line.output("run explain run-000001 prepare -o json"))
    assert (row["cache"]["differences"][0]["now"], row["view"]["jobID"]) == ("sh b.sh", "job-1")
    assert "differs\tcommand: sh a.sh -> sh b.sh" in command_line.output("run explain run-000001 prepare -o text")
    assert "did you mean prepare?" in command_line.run("run explain run-000001 prepared").stderr


def test_a_node_is_approved_or_refused(fake: FakePaddleFlow, command_line: CommandLine) -> None:
    train(fake.world)
    assert command_line.output("run approve run-000001 report --comment fine") == (
        "node[report] of run[run-000001] approve success\n"
    )
    command_line.output("run refuse run-000001 report")
    first, second = fake.world.asked(run_pb2.DecideApprovalRequest)
    assert (first.approve, first.comment, second.approve) == (True, "fine", False)


def written(text: bytes) -> Stream:
    replica = log_pb2.LogReplica(attempt=1, role=spec_pb2.ROLE_MAIN)
    message = log_pb2.ReadLogResponse(data=text, position=log_pb2.LogPosition(replica=replica, end=True))
    return Stream([message])


def test_logs_of_steps_are_told_with_their_steps(fake: FakePaddleFlow, command_line: CommandLine) -> None:
    train(fake.world)
    fake.world.streams = [written(b"prepared\n"), written(b"a\nb")]
    result = command_line.run("run logs run-000001")
    assert result.stdout == "prepare: prepared\nfit[1].train: a\nfit[1].train: b\n"
    assert "fit.train took its result from run-000000; `paddleflow job logs job-0` has its log" in result.stderr
    fake.world.streams = [written(b"prepared\n")]
    assert command_line.output("run logs run-000001 prepare --tail 1") == "prepared\n"
    fake.world.streams = [written(b"a\n")]
    told = json.loads(command_line.output("run logs run-000001 'fit[1]' -o json"))
    assert told == {"node": "fit[1].train", "role": "main", "index": 0, "line": "a"}
    assert "has no node 'nowhere'" in command_line.run("run logs run-000001 nowhere").stderr


def test_logs_are_followed_as_jobs_begin(fake: FakePaddleFlow, command_line: CommandLine) -> None:
    train(fake.world)
    fake.world.run_nodes["run-000001"] = []
    begun = happened(1, "prepare")
    begun.job_id = "job-1"
    fake.world.streams = [stream(begun, begun, happened(2, what="succeeded")), written(b"prepared\n")]
    assert command_line.output("run logs run-000001 -f") == "prepare: prepared\n"
    (asked,) = fake.world.asked(log_pb2.ReadLogRequest)
    assert (asked.choice.id, asked.follow) == ("job-1", True)


def test_the_log_of_a_run_is_shown_as_the_original_does(fake: FakePaddleFlow, command_line: CommandLine) -> None:
    train(fake.world)
    fake.world.streams = [stream(happened(1, what="created")), written(b"one\ntwo\n"), written(b"three\n")]
    lines = command_line.output("log show run-000001 -ps 1").splitlines()
    assert lines[:5] == ["submit log:", "2026-01-02T03:04:06+00:00 created", "", "run log:", lines[4]]
    assert lines[4].split("\t") == [
        "runid:run-000001",
        "jobid:job-1",
        "taskid:1/main/0",
        "has_next_page:True",
        "truncated:False",
        "page_no:1",
        "page_size:1",
    ]
    assert lines[5] == "two"
    assert command_line.run("log show run-000001 -ps 1000").exit_code == 1


@pytest.mark.parametrize(
    ("path", "names", "meant"),
    [
        ("fit[1].train", [], True),
        ("fit[1].train", ["fit"], True),
        ("fit[1].train", ["fit[1]"], True),
        ("fit[1].train", ["fit[1].train"], True),
        ("fit[1].train", ["fit[10]", "train"], False),
        ("fitter", ["fit"], False),
    ],
)
def test_a_name_means_a_node_and_what_it_consists_of(path: str, names: list[str], meant: bool) -> None:
    assert named(path, names) is meant


@pytest.mark.parametrize(
    ("node", "said"),
    [
        (WAITS, "waits for c"),
        (replace(WAITS, waiting=NodeWaiting.DEPENDENCIES, waiting_on=("a", "d")), "waits for d"),
        (replace(WAITS, waiting=NodeWaiting.PARALLELISM), "waits until fewer others run"),
        (replace(WAITS, waiting=NodeWaiting.SEMAPHORE, waiting_on=("gpu",)), "waits for the semaphore gpu"),
        (replace(WAITS, waiting=NodeWaiting.APPROVAL, waiting_on=("bob",)), "waits for the approval of bob"),
        (replace(WAITS, waiting=NodeWaiting.RETRY), "is tried again"),
        (replace(WAITS, waiting=NodeWaiting.CACHE, waiting_on=("run-1",)), "waits for the same step of run-1"),
        (replace(WAITS, waiting=NodeWaiting.JOB, waiting_on=("job-1",)), "its job job-1 waits in its queue"),
        (replace(WAITS, waiting=NodeWaiting.CHILDREN), ""),
        (replace(WAITS, state=NodeState.SUCCEEDED), ""),
    ],
)
def test_every_node_that_waits_says_for_what(node: RunNode, said: str) -> None:
    assert waiting(node, {"a"}) == said


def test_a_remark_tells_tries_and_where_a_result_came_from() -> None:
    node = RunNode(path="a", name="a", state=NodeState.SUCCEEDED, attempt=2, cache_run_id="run-1", message="well")
    assert remark(node) == "try 2; from the cache of run-1; well"
    assert remark(replace(node, attempt=1, message="as in run-1, a")) == "from the cache, as in run-1, a"
    assert [span(timedelta(seconds=each)) for each in (-1, 0.25, 61)] == ["0.0s", "0.2s", "1m1s"]


def test_changes_of_runs_are_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    run = Run(id="run-000001", name="a", state=RunState.RUNNING, source=Source(pipeline_id="ppl-000001"))
    items: list[WatchItem[Run]] = [
        Change(ChangeKind.EXISTING, run),
        Change(ChangeKind.UPDATED, replace(run, version=2)),
        Bookmark("t", caught_up=True),
        Reset(),
        Change(ChangeKind.UPDATED, replace(run, state=RunState.FAILED, message="why")),
        Change(ChangeKind.DELETED, replace(run, state=RunState.FAILED, message="why")),
        Change(ChangeKind.UPDATED, replace(run, id="run-000002")),
    ]
    print_changes(items, {"ids": ["run-000001"]}, Printer(Form.TABLE, terminal=False))
    lines = [" ".join(line.split()[1:]) for line in capsys.readouterr().out.splitlines()]
    assert lines == ["running run-000001 a", "failed run-000001 a why", "deleted run-000001 a why"]
    assert matches(run, {"pipeline_id": "ppl-000001", "states": [RunState.RUNNING]})
    assert not matches(run, {"pipeline_id": "ppl-000002"})
    assert not matches(run, {"states": [RunState.FAILED]})
