"""`paddleflow job` over the real services."""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from fixtures_jobs import JobSite
from paddleflow.models import Queue
from paddleflow.sync import PaddleFlow
from support.command_line import CommandLine
from support.queue_process import ROOT_PASSWORD
from support.queue_site import PASSWORD
from support.repository import BIN

PATIENCE = 30.0
SMALL = "--cpu 100m --mem 1Mi"
DOCUMENT = """
name: train
labels: {{team: a}}
schedulingPolicy: {{queue: {queue}, priority: HIGH}}
flavour: {{cpu: 100m, mem: 1Mi}}
env: {{GREETING: "hello, world", NUMBER: "1"}}
command: test "$GREETING" = "hello, world"
retry: {{limit: 2, backoff: 1s}}
"""
CREW = """
framework: paddle
flavour: {{name: small-{tag}}}
fs: {{name: data-{tag}, mountPath: /data}}
extraFS: [{{name: data-{tag}, readOnly: true}}]
members:
  - {{role: pserver, replicas: 1, command: sleep 1}}
  - {{role: worker, replicas: 2, command: sleep 1, limitFlavour: {{name: NONE}}}}
"""
WRONG = """
nmae: train
port: many
flavour: {cpu: lots}
"""


@pytest.fixture
def line(job_site: JobSite, tmp_path: Path, plain_environment: None) -> CommandLine:
    return CommandLine.configured(
        tmp_path, job_site.process.queue.address, password=ROOT_PASSWORD, services=job_site.services
    )


@pytest.fixture
def held(job_site: JobSite) -> str:
    """A queue in which jobs wait for ever."""
    name = f"held-{job_site.tag}"
    with PaddleFlow(job_site.connection()) as client:
        client.queues.create(Queue(name, cluster="default-cluster", max={"cpu": 2000, "memory": 2**30}))
        client.queues.hold(name)
    return name


def submitted(line: CommandLine, arguments: str) -> str:
    """The id of a job that takes little."""
    [made] = json.loads(line.output(f"job submit {SMALL} -o json {arguments}"))
    return str(made["job id"])


def shown(line: CommandLine, id_: str, fields: str) -> str:
    return line.output(f"job show {id_} -fl {fields} -o text").rstrip("\n")


def test_a_document_is_run_shown_and_run_again(line: CommandLine, tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(DOCUMENT.format(queue="default-queue"))
    first = re.fullmatch(r"job create success, id\[(job-\w+)\]\n", line.output(f"job create {path}"))
    assert first is not None
    assert line.run(f"job wait {first[1]}").exit_code == 0
    assert shown(line, first[1], "status,priority,labels,user") == "succeeded\tHIGH\tteam=a\troot"
    document = line.output(f"job show {first[1]} -o yaml")
    assert document.startswith(f"# job {first[1]}, succeeded\nname: train\n")
    again = line.run("job create --wait single -", typed=document)
    assert (again.exit_code, again.stdout.splitlines()[-1][-11:]) == (0, "] succeeded")
    second = re.search(r"id\[(job-\w+)\]", again.stdout)
    assert second is not None
    assert second[1] != first[1]
    assert line.output(f"job show {second[1]} -o yaml").splitlines()[1:] == document.splitlines()[1:]


def test_all_that_is_wrong_with_a_document_is_told_by_its_place(line: CommandLine, tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(WRONG)
    result = line.run(f"job create {path}")
    assert result.exit_code == 1
    assert f"4 things are wrong with {path}:" in result.stderr
    for place in ("nmae", "port", "flavour.cpu", "command"):
        assert place in result.stderr
    assert "line 2, column 1" in result.stderr
    assert "name" in result.stderr
    late = line.run("job create -", typed="comand: x\nid: No\nflavour: {cpu: 1}\nretry: {limit: many, backoff: -1s}\n")
    assert [text.split(":")[0] for text in late.stderr.splitlines()[1:]] == [
        *("  comand", "  retry.limit", "  retry.backoff", "  id", "  flavour.mem")
    ]
    missing = line.run("job create nowhere.yaml")
    assert (missing.exit_code, "nowhere.yaml cannot be read: No such file" in missing.stderr) == (1, True)


def test_flavours_filesystems_and_members_are_written_so_that_they_are_read_again(
    line: CommandLine, job_site: JobSite
) -> None:
    tag = job_site.tag
    data = job_site.process.fs.roots / f"data-{tag}"
    data.mkdir()
    line.output(f"flavour create small-{tag} -c 100m -m 1Mi")
    line.output(f"fs create data-{tag} local://{data}")
    told = line.output("job create - --dry-run -o yaml", typed=CREW.format(tag=tag))
    assert f"name: small-{tag}" in told
    again = line.output("job create distributed - --dry-run -o yaml", typed=told)
    assert again.splitlines()[1:] == told.splitlines()[1:]


def test_a_document_is_looked_at_without_running_it(line: CommandLine, held: str, tmp_path: Path) -> None:
    path = tmp_path / "job.json"
    path.write_text(json.dumps({"command": "true", "schedulingPolicy": {"queue": held}}))
    assert line.output(f"job create {path} --dry-run") == f"{path} is a job that can be run\n"
    assert "priority: NORMAL" in line.output(f"job create {path} --dry-run -o yaml")
    assert line.output(f"job list -q {held}").startswith("no job found")


@pytest.mark.parametrize(("command", "status"), [("true", 0), ("false", 1), ("sh -c 'exit 7'", 7)])
def test_waiting_ends_with_the_status_of_the_job(line: CommandLine, command: str, status: int) -> None:
    result = line.run(f"job submit --wait {SMALL} -- {command}")
    assert result.exit_code == status, result.output
    assert ("succeeded" if status == 0 else f"failed: it ended with exit status {status}") in result.stdout
    id_ = result.stdout.partition("id[")[2].partition("]")[0]
    assert line.run(f"job wait {id_}").exit_code == status


def test_it_is_told_what_the_machine_knows_of_an_end(line: CommandLine) -> None:
    result = line.run(f"job submit --wait {SMALL} -- no-such-program")
    assert result.exit_code == 127
    assert result.stdout.endswith("] failed: the program no-such-program was not found\n")


def test_a_wait_ends_with_one_for_what_was_stopped_and_as_shells_do_for_a_kill(line: CommandLine, held: str) -> None:
    stopped = submitted(line, f"--queue {held} -- true")
    assert line.output(f"job stop {stopped}") == f"jobid[{stopped}] stop success\n"
    assert line.run(f"job wait {stopped}").exit_code == 1
    assert line.run(f"job submit --wait {SMALL} -- sh -c 'kill -9 $$'").exit_code == 137


def test_a_wait_says_nothing_twice(line: CommandLine) -> None:
    again = "command: exit 4\nflavour: {cpu: 100m, mem: 16Mi}\nretry: {limit: 1, backoff: 1s}\n"
    result = line.run("job create - --wait", typed=again)
    said = result.stderr.splitlines()
    assert (result.exit_code, "; try 2 of 2 follows in 1s" in result.stderr) == (4, True), said
    assert all(one != other for one, other in itertools.pairwise(said)), said


def test_an_interrupted_wait_leaves_the_job_alone(line: CommandLine) -> None:
    id_ = submitted(line, "-- sleep 1000")
    environment = os.environ | {"PADDLEFLOW_CONFIG": str(line.config)}
    command = [str(BIN / "paddleflow"), "job", "wait", id_]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE) as waiting:
        assert waiting.stderr is not None
        while b"running" not in waiting.stderr.readline():
            assert waiting.poll() is None
        waiting.send_signal(signal.SIGINT)
        assert b"goes on" in waiting.stderr.read()
        assert waiting.wait(PATIENCE) == 130
    assert shown(line, id_, "status") == "running"
    line.output(f"job stop --now {id_}")
    assert line.run(f"job wait {id_}").exit_code == 1


def test_options_of_submit_reach_the_job(line: CommandLine, held: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEED", "7")
    options = f"-q {held} -n train -p low -e A=1,2 -e SEED -l a=b,c=d --retries 3 --gpu 0"
    id_ = submitted(line, f"{options} -- echo --cpu 9")
    [told] = json.loads(line.output(f"job show {id_} -o json"))
    assert (told["job name"], told["queue"], told["priority"]) == ("train", held, "LOW")
    assert (told["env"], told["labels"]) == ({"A": "1,2", "SEED": "7"}, {"a": "b", "c": "d"})
    assert (told["args"], told["retry"]["limit"]) == (["echo", "--cpu", "9"], 3)
    unset = line.run("job submit -e NOT_SET_HERE -- true")
    assert "env: 'NOT_SET_HERE' is not set here" in unset.stderr
    both = line.run("job submit --flavour big --cpu 1 -- true")
    assert "flavour: excludes --cpu, --mem and --gpu" in both.stderr


def test_jobs_are_listed_by_what_is_asked(line: CommandLine, held: str) -> None:
    first, second = (submitted(line, f"-q {held} -n {name} -l n={name} -- true") for name in ("one", "two"))
    listed = line.output(f"job list -q {held} -fl id,name,status -o text")
    listed = listed.replace("init", "pending")
    assert listed == f"{second}\ttwo\tpending\n{first}\tone\tpending\nmarker: None\n"
    assert line.output(f"job list -q {held} -l n=one -fl id -o text").splitlines()[0] == first
    assert line.output(f"job list -q {held} -s running -o json") == "[]\n"
    assert line.output(f"job list -q {held} -t 1h -st 2020-01-01 -o json") == "[]\n"
    page = line.output(f"job list -q {held} -m 1 -fl id -o text").splitlines()
    rest = line.output(f"job list -q {held} -m 1 -mk {page[1].removeprefix('marker: ')} -fl id -o text").splitlines()
    assert (page[0], rest[0]) == (second, first)
    wrong = line.run("job list -fl id,stauts")
    assert (wrong.exit_code, "did you mean status?" in wrong.stderr) == (1, True)


def test_the_priority_and_labels_of_a_waiting_job_change(line: CommandLine, held: str) -> None:
    id_ = submitted(line, f"-q {held} -l old=1 -- true")
    assert line.output(f"job update {id_} -l new=2,old= -a why=test") == f"job[{id_}] update success\n"
    assert shown(line, id_, "labels,annotations") == "new=2\twhy=test"
    nothing = line.run(f"job update {id_}")
    assert "Nothing to change is given" in nothing.stderr


def test_several_are_stopped_and_forgotten_and_one_that_is_not_there_is_told(line: CommandLine, held: str) -> None:
    ids = [submitted(line, f"-q {held} -- true") for _ in range(2)]
    result = line.run(f"job stop {ids[0]} {ids[1][:-1]}0x {ids[1]}")
    assert result.exit_code == 1
    assert result.stdout == "".join(f"jobid[{id_}] stop success\n" for id_ in ids)
    assert f"did you mean {ids[1]}" in result.stderr
    deadline = time.monotonic() + PATIENCE
    while line.run(f"job delete {ids[0]}").exit_code:
        assert time.monotonic() < deadline
    assert line.run(f"job show {ids[0]}").exit_code == 1


def test_what_was_meant_is_told_by_the_name_of_a_job(line: CommandLine, held: str, job_site: JobSite) -> None:
    id_ = submitted(line, f"-q {held} -n name-{job_site.tag} -- true")
    for verb in ("show", "wait", "events", "events -f", "tasks", "explain", "stop", "delete", "update -l a=b"):
        result = line.run(f"job {verb} name-{job_site.tag}")
        assert (result.exit_code, f"did you mean {id_}?" in result.stderr) == (1, True), verb
    assert "Did you mean submit?" in line.run("job sumbit -- true").stderr


def test_replicas_and_what_happened_are_told(line: CommandLine) -> None:
    id_ = submitted(line, "-- sh -c 'exit 3'")
    assert line.run(f"job wait {id_}").exit_code == 3
    [task] = json.loads(line.output(f"job tasks {id_} -o json"))
    assert (task["role"], task["index"], task["status"], task["exit"]) == ("main", 0, "failed", "3")
    [listed] = json.loads(line.output("job list -fl id,runtime -m 1 -o json"))
    assert (listed["job id"], listed["runtime"]["status"], listed["runtime"]["name"]) == (id_, "failed", "main-0")
    rows = [row.split("\t") for row in line.output(f"job events {id_} -o text").splitlines()[:-1]]
    assert [row[4] for row in rows] == ["accepted", "admitted", "running", "task-failed", "ended", "failed"]
    followed = line.output(f"job events {id_} --follow -o text").splitlines()
    assert [row.split("\t") for row in followed] == rows
    assert line.output(f"job events {id_} -mk 3 -o text").splitlines()[0] == "\t".join(rows[3])


def test_it_is_explained_why_a_job_waits(line: CommandLine, held: str) -> None:
    id_ = submitted(line, f"-q {held} -n slow -- true")
    deadline = time.monotonic() + PATIENCE
    while not ("queue-held" in (told := line.output(f"job explain {id_}")) and "has been pending" in told):
        assert time.monotonic() < deadline, told
    assert told.startswith(f"{id_} (slow) has been pending for ")
    [row] = json.loads(line.output(f"job explain {id_} -o json"))
    assert (row["status"], row["admission"]["reason"]) == ("pending", "queue-held")
    assert "queue\treason\tqueue-held" in line.output(f"job explain {id_} -o text")
    log = line.run(f"job logs {id_}")
    assert (log.exit_code, log.stdout) == (0, "")
    assert log.stderr == f"it is pending, and has not begun; `paddleflow job explain {id_}` says why\n"
    line.output(f"job stop {id_}")
    assert line.run(f"job logs {id_}").stderr == ""
    assert line.output(f"job explain {id_}").startswith(f"{id_} (slow) is over: terminated\n")


def test_what_runs_and_waits_is_shown_at_a_glance(line: CommandLine, held: str) -> None:
    id_ = submitted(line, f"-q {held} -n slow -- true")
    lines = line.output(f"job top -q {held}").splitlines()
    assert re.fullmatch("(pending|init) 1", lines[0])
    assert lines[2].split()[:4] == [id_, "slow", "root", held]
    assert line.output("job top -q nowhere") == "no job runs or waits\n"
    assert json.loads(line.output(f"job top -q {held} -o json"))[0]["job id"] == id_


def test_changes_are_printed_until_a_job_is_over(line: CommandLine) -> None:
    id_ = submitted(line, "-- true")
    rows = [row.split("\t") for row in line.output(f"job show {id_} --watch -o text").splitlines()]
    assert {row[1] for row in rows} == {id_}
    assert rows[-1][4] == "succeeded"


async def test_users_run_jobs_where_they_may(job_site: JobSite, tmp_path: Path, plain_environment: None) -> None:
    alice = await job_site.add_user("alice")
    line = CommandLine.configured(
        tmp_path, job_site.process.queue.address, user=alice, password=PASSWORD, services=job_site.services
    )
    refused = line.run(f"job submit {SMALL} -- true")
    assert (refused.exit_code, "default-queue" in refused.stderr) == (1, True)
    assert line.output("job list") == "no job found\nmarker: None\n"
