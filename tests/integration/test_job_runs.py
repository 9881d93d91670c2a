"""Jobs over a socket: from the request to the end of their processes."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import struct_pb2
from google.protobuf.duration_pb2 import Duration

from fixtures_jobs import JobSite
from paddleflow.fs.v1 import fs_pb2
from paddleflow.job.v1 import job_pb2, spec_pb2
from paddleflow.problems import (
    FlavourNotFound,
    InvalidArgument,
    JobStateConflict,
    NeverFits,
    NotServed,
    QueueNotFound,
)
from paddleflow.queue.v1 import queue_pb2

PATIENCE = 30.0
OVER = frozenset(
    {
        job_pb2.JOB_STATE_SUCCEEDED,
        job_pb2.JOB_STATE_FAILED,
        job_pb2.JOB_STATE_TERMINATED,
        job_pb2.JOB_STATE_PREEMPTED,
    }
)


MEET = """
import os, socket, time
rank, size = int(os.environ["PADDLE_TRAINER_ID"]), int(os.environ["PADDLE_TRAINERS_NUM"])
host, port = os.environ["PADDLE_TRAINER_ENDPOINTS"].split(",")[0].split(":")
if rank == 0:
    with socket.create_server((host, int(port))) as server:
        for _ in range(size - 1):
            server.accept()[0].sendall(b"met")
else:
    deadline = time.monotonic() + 20
    while True:
        try:
            peer = socket.create_connection((host, int(port)))
            break
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.01)
    assert peer.recv(3) == b"met"
"""
CORES = {"amounts": {"cpu": 2_000, "memory": 2**20}}
"""All that the queues of a test have; two such jobs never run at once."""


async def create(site: JobSite, command: str, **fields: Any) -> job_pb2.Job:
    draft = job_pb2.Job(spec=spec_pb2.JobSpec(command=command, **fields))
    made: job_pb2.Job = (await site.root(job_pb2.CreateJobRequest(job=draft))).job
    return made


async def get(site: JobSite, id_: str) -> job_pb2.Job:
    found: job_pb2.Job = (await site.root(job_pb2.GetJobRequest(id=id_))).job
    return found


async def until(site: JobSite, id_: str, *states: job_pb2.JobState.ValueType) -> job_pb2.Job:
    deadline = time.monotonic() + PATIENCE
    while (job := await get(site, id_)).state not in states:
        assert time.monotonic() < deadline, f"{job}\n{site.process.log}"
        await asyncio.sleep(0.01)
    return job


async def what(site: JobSite, id_: str) -> list[str]:
    reply = await site.root(job_pb2.ListHappeningsRequest(id=id_))
    return [happening.what for happening in reply.happenings]


async def test_a_job_runs_to_its_end(job_site: JobSite) -> None:
    made = await create(job_site, "true", name="nothing")
    assert made.state == job_pb2.JOB_STATE_INIT
    over = await until(job_site, made.id, *OVER)
    assert (over.state, over.message) == (job_pb2.JOB_STATE_SUCCEEDED, "")
    assert over.start_time.ToMicroseconds() <= over.finish_time.ToMicroseconds()
    assert await what(job_site, made.id) == ["accepted", "admitted", "running", "ended", "succeeded"]


async def test_a_job_that_fails_says_how(job_site: JobSite) -> None:
    made = await create(job_site, "exit 3")
    over = await until(job_site, made.id, *OVER)
    assert (over.state, over.message) == (job_pb2.JOB_STATE_FAILED, "it ended with exit status 3")
    (task,) = (await job_site.root(job_pb2.ListTasksRequest(id=made.id))).tasks
    assert (task.state, task.exit_status) == (job_pb2.TASK_STATE_FAILED, 3)


async def test_a_job_is_tried_again(job_site: JobSite) -> None:
    retry = spec_pb2.RetryPolicy(limit=1)
    retry.backoff.FromMilliseconds(10)
    made = await create(job_site, "false", retry=retry)
    over = await until(job_site, made.id, *OVER)
    assert (over.state, over.attempt, over.retries) == (job_pb2.JOB_STATE_FAILED, 2, 1)


async def test_a_job_is_stopped(job_site: JobSite) -> None:
    made = await create(job_site, "sleep 1000")
    await until(job_site, made.id, job_pb2.JOB_STATE_RUNNING)
    await job_site.root(job_pb2.StopJobRequest(id=made.id))
    over = await until(job_site, made.id, *OVER)
    assert (over.state, over.message) == (job_pb2.JOB_STATE_TERMINATED, "stopped by root")
    (task,) = (await job_site.root(job_pb2.ListTasksRequest(id=made.id))).tasks
    assert task.state == job_pb2.TASK_STATE_STOPPED


async def test_a_job_is_stopped_before_it_is_admitted(job_site: JobSite) -> None:
    await job_site.queues(queue_pb2.CreateQueueRequest(queue=queue(job_site, "held", max=CORES)))
    await job_site.queues(queue_pb2.HoldQueueRequest(name=f"held-{job_site.tag}"))
    made = await create(job_site, "true", **wants(job_site, "held"))
    await until(job_site, made.id, job_pb2.JOB_STATE_PENDING)
    stopped: job_pb2.Job = (await job_site.root(job_pb2.StopJobRequest(id=made.id))).job
    assert stopped.state == job_pb2.JOB_STATE_TERMINATED
    await until_deleted(job_site, made.id)


async def test_a_job_that_runs_too_long_is_ended(job_site: JobSite) -> None:
    limits = spec_pb2.TimeLimits(grace=Duration(nanos=10**8), run=Duration(nanos=3 * 10**8))
    made = await create(job_site, "trap '' TERM; while :; do sleep 1; done", limits=limits, retry={"limit": 3})
    over = await until(job_site, made.id, *OVER)
    assert (over.state, over.attempt) == (job_pb2.JOB_STATE_FAILED, 1)
    assert over.message.startswith("ran longer than its limit")
    assert over.finish_time.ToMicroseconds() - over.start_time.ToMicroseconds() >= 400_000


async def test_a_job_that_waits_too_long_is_ended_and_gives_back_its_place(job_site: JobSite) -> None:
    await job_site.queues(queue_pb2.CreateQueueRequest(queue=queue(job_site, "late", max=CORES)))
    await job_site.queues(queue_pb2.HoldQueueRequest(name=f"late-{job_site.tag}"))
    limits = spec_pb2.TimeLimits(pending=Duration(nanos=3 * 10**8))
    made = await create(job_site, "true", limits=limits, **wants(job_site, "late"))
    over = await until(job_site, made.id, *OVER)
    assert (over.state, over.HasField("start_time")) == (job_pb2.JOB_STATE_FAILED, False)
    assert over.message.startswith("did not run within its limit")
    await until_deleted(job_site, made.id)


async def test_a_job_is_pushed_out_by_a_guarantee_and_runs_again(job_site: JobSite) -> None:
    both = f"both-{job_site.tag}"
    await job_site.queues(queue_pb2.CreateQueueRequest(queue=queue(job_site, "both", min=CORES, max=CORES)))
    await job_site.queues(queue_pb2.CreateQueueRequest(queue=queue(job_site, "low", parent=both)))
    await job_site.queues(queue_pb2.CreateQueueRequest(queue=queue(job_site, "high", parent=both, min=CORES)))
    victim = await create(job_site, "sleep 1000", **wants(job_site, "low"))
    await until(job_site, victim.id, job_pb2.JOB_STATE_RUNNING)
    mine = await create(job_site, "sleep 0.2", **wants(job_site, "high"))
    assert (await until(job_site, mine.id, *OVER)).state == job_pb2.JOB_STATE_SUCCEEDED
    again = await until(job_site, victim.id, job_pb2.JOB_STATE_RUNNING)
    assert (again.attempt, again.retries) == (2, 0)
    assert "evicted" in await what(job_site, victim.id)
    await job_site.root(job_pb2.StopJobRequest(id=victim.id, now=True))
    await until(job_site, victim.id, *OVER)
    tasks = (await job_site.root(job_pb2.ListTasksRequest(id=victim.id, attempt=-1))).tasks
    assert [(task.attempt, task.state) for task in tasks] == [
        (1, job_pb2.TASK_STATE_STOPPED),
        (2, job_pb2.TASK_STATE_STOPPED),
    ]


async def test_the_workers_of_a_collective_job_meet(job_site: JobSite) -> None:
    """Rank 0 listens where all were told that it does, and the other one reaches it."""
    worker = spec_pb2.Member(role=spec_pb2.ROLE_WORKER, replicas=2)
    program = ["python3", "-c", MEET]
    made = await create(job_site, "", args=program, framework=spec_pb2.FRAMEWORK_PADDLE, members=[worker], **small())
    over = await until(job_site, made.id, *OVER)
    assert (over.state, over.message) == (job_pb2.JOB_STATE_SUCCEEDED, "")
    assert [(role.role, role.succeeded) for role in over.roles] == [(spec_pb2.ROLE_WORKER, 2)]


async def test_parameter_servers_are_ended_when_the_workers_are_done(job_site: JobSite) -> None:
    members = [
        spec_pb2.Member(role=spec_pb2.ROLE_PSERVER, replicas=1, command="sleep 1000"),
        spec_pb2.Member(role=spec_pb2.ROLE_WORKER, replicas=1, command='test -n "$PADDLE_PSERVERS_IP_PORT_LIST"'),
    ]
    made = await create(job_site, "", framework=spec_pb2.FRAMEWORK_PADDLE, members=members, **small())
    over = await until(job_site, made.id, *OVER)
    assert (over.state, over.message) == (job_pb2.JOB_STATE_SUCCEEDED, "")
    tasks = (await job_site.root(job_pb2.ListTasksRequest(id=made.id))).tasks
    assert {task.role: task.state for task in tasks} == {
        spec_pb2.ROLE_PSERVER: job_pb2.TASK_STATE_STOPPED,
        spec_pb2.ROLE_WORKER: job_pb2.TASK_STATE_SUCCEEDED,
    }


async def test_one_that_fails_takes_the_others_along(job_site: JobSite) -> None:
    members = [
        spec_pb2.Member(role=spec_pb2.ROLE_PSERVER, replicas=1, command="sleep 1000"),
        spec_pb2.Member(
            role=spec_pb2.ROLE_WORKER, replicas=2, command='[ "$PADDLE_TRAINER_ID" = 0 ] && exit 7; sleep 1000'
        ),
    ]
    made = await create(job_site, "", framework=spec_pb2.FRAMEWORK_PADDLE, members=members, **small())
    over = await until(job_site, made.id, *OVER)
    assert (over.state, over.message) == (job_pb2.JOB_STATE_FAILED, "worker 0 ended with exit status 7")
    assert [role.failed for role in over.roles] == [1, 2]


async def test_a_replica_is_started_again_where_that_is_asked_for(job_site: JobSite, tmp_path: Path) -> None:
    folder = await shared_folder(job_site, tmp_path)
    command = 'echo x >> starts; [ "$(wc -l < starts)" = 3 ]'
    env = {"PF_JOB_RESTART_POLICY": "OnFailure"}
    made = await create(job_site, command, env=env, fs={"name": folder}, **small())
    over = await until(job_site, made.id, *OVER)
    assert (over.state, over.attempt) == (job_pb2.JOB_STATE_SUCCEEDED, 1)
    tasks = (await job_site.root(job_pb2.ListTasksRequest(id=made.id))).tasks
    failed, well = job_pb2.TASK_STATE_FAILED, job_pb2.TASK_STATE_SUCCEEDED
    assert [(task.restarts, task.state) for task in tasks] == [(0, failed), (1, failed), (2, well)]
    assert (tmp_path / "starts").read_text() == "x\n" * 3


async def shared_folder(site: JobSite, folder: Path) -> str:
    """The name of a new filesystem whose files lie in a folder, which every job may write to."""
    folder.chmod(0o777)
    draft = fs_pb2.Filesystem(name=f"data-{site.tag}", url=f"local://{folder}")
    made: fs_pb2.Filesystem = (await site.filesystems(fs_pb2.CreateFilesystemRequest(filesystem=draft))).filesystem
    return made.name


def small() -> dict[str, Any]:
    """Little enough that several fit on a test machine."""
    return {"flavour": {"amounts": {"amounts": {"cpu": 100, "memory": 2**20}}}}


def queue(site: JobSite, word: str, **fields: Any) -> queue_pb2.Queue:
    return queue_pb2.Queue(name=f"{word}-{site.tag}", cluster="default-cluster", **fields)


def wants(site: JobSite, word: str) -> dict[str, Any]:
    """All cores, in a queue of the test."""
    return {"scheduling_policy": {"queue": f"{word}-{site.tag}"}, "flavour": {"amounts": CORES}}


async def until_deleted(site: JobSite, id_: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            await site.root(job_pb2.DeleteJobRequest(id=id_))
        except JobStateConflict:
            assert time.monotonic() < deadline, site.process.log
            await asyncio.sleep(0.01)
        else:
            return


async def test_what_cannot_be_done_here_is_refused_at_once(job_site: JobSite) -> None:
    master = spec_pb2.Member(role=spec_pb2.ROLE_MASTER, replicas=1)
    elastic = spec_pb2.Member(role=spec_pb2.ROLE_WORKER, replicas=2, max_replicas=4)
    with pytest.raises(NotServed, match="leave out maxReplicas of worker"):
        await create(job_site, "true", framework=spec_pb2.FRAMEWORK_MPI, members=[master, elastic], **small())
    template = struct_pb2.Struct()
    template.update({"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow"})
    draft = job_pb2.Job(type=job_pb2.JOB_TYPE_WORKFLOW, spec=spec_pb2.JobSpec(extension_template=template))
    with pytest.raises(NotServed, match="needs a Kubernetes cluster"):
        await job_site.root(job_pb2.CreateJobRequest(job=draft))


async def test_a_name_of_another_filesystem_than_its_id_is_refused(job_site: JobSite, tmp_path: Path) -> None:
    one, other = [await filesystem(job_site, tmp_path, word) for word in ("one", "other")]
    right = {"id": one.id, "name": one.name, "mount_path": "/one"}
    await create(job_site, "true", fs=right, **small())
    gone = {"id": one.id, "name": f"gone-{job_site.tag}", "mount_path": "/gone"}
    both = {"id": one.id, "name": other.name, "mount_path": "/both"}
    with pytest.raises(InvalidArgument) as refused:
        await create(job_site, "true", fs=right, extra_fs=[gone, both], **small())
    assert [violation.field for violation in refused.value.violations] == ["extraFS[1]"]


async def filesystem(site: JobSite, above: Path, word: str) -> fs_pb2.Filesystem:
    (above / word).mkdir()
    draft = fs_pb2.Filesystem(name=f"{word}-{site.tag}", url=f"local://{above / word}")
    made: fs_pb2.Filesystem = (await site.filesystems(fs_pb2.CreateFilesystemRequest(filesystem=draft))).filesystem
    return made


async def test_all_that_is_wrong_is_told_at_once(job_site: JobSite) -> None:
    with pytest.raises(InvalidArgument) as refused:
        await create(job_site, "true", id="No", port=-1, env={"1a": "x"})
    assert {violation.field for violation in refused.value.violations} == {"id", "port", "env"}


async def test_all_that_is_not_there_is_told_at_once(job_site: JobSite) -> None:
    gone = {
        "scheduling_policy": {"queue": "no-queue"},
        "flavour": {"name": "no-flavour"},
        "extra_fs": [{"name": "no-fs"}, {"id": "no-id", "mount_path": "/here"}],
    }
    with pytest.raises(QueueNotFound) as refused:
        await create(job_site, "true", **gone)
    assert [each.field for each in refused.value.violations] == [
        *("schedulingPolicy.queue", "flavour.name", "extraFS[0]", "extraFS[1]")
    ]
    assert all(word in refused.value.message for word in ("no-queue", "no-flavour", "no-fs", "no-id"))
    worker = {"role": "ROLE_WORKER", "replicas": 2, "limit_flavour": {"flavour": {"name": "no-limit"}}}
    with pytest.raises(FlavourNotFound) as alone:
        await create(job_site, "true", framework=spec_pb2.FRAMEWORK_PADDLE, members=[worker], **small())
    assert [each.field for each in alone.value.violations] == ["members[0].limitFlavour.name"]


async def test_what_can_never_fit_is_refused_at_once(job_site: JobSite) -> None:
    with pytest.raises(NeverFits, match=r"asks for 1000 of cpu; queue .* has at most 20;"):
        await create(job_site, "true", flavour={"amounts": {"amounts": {"cpu": 10**6, "memory": 1}}})


async def test_many_are_taken_each_for_itself(job_site: JobSite) -> None:
    known = await create(job_site, "true", **small())
    specs = [
        spec_pb2.JobSpec(command="true", **small()),
        spec_pb2.JobSpec(command="true", port=-1),
        spec_pb2.JobSpec(id=known.id, command="true", **small()),
    ]
    request = job_pb2.CreateJobsRequest(jobs=[job_pb2.Job(spec=spec) for spec in specs], request_id=job_site.tag)
    reply = await job_site.root(request)
    assert [result.reason for result in reply.results] == ["", "INVALID_ARGUMENT", "JOB_EXISTS"]
    over = await until(job_site, reply.results[0].job.id, *OVER)
    assert over.state == job_pb2.JOB_STATE_SUCCEEDED
    again = job_pb2.CreateJobsRequest(jobs=[job_pb2.Job(spec=specs[2])])
    assert [result.reason for result in (await job_site.root(again)).results] == ["JOB_EXISTS"]


async def test_nothing_of_what_no_machine_has_may_be_asked_for(job_site: JobSite) -> None:
    amounts = {"cpu": 100, "memory": 2**20, "nobody.has/it": 0}
    made = await create(job_site, "true", flavour={"amounts": {"amounts": amounts}})
    over = await until(job_site, made.id, *OVER)
    assert (over.state, over.message) == (job_pb2.JOB_STATE_SUCCEEDED, "")


async def test_a_repeated_request_is_answered_as_before(job_site: JobSite) -> None:
    draft = job_pb2.Job(spec=spec_pb2.JobSpec(command="true", **small()))
    request = job_pb2.CreateJobRequest(job=draft, request_id=f"once-{job_site.tag}")
    first = await job_site.root(request)
    assert await job_site.root(request) == first


async def test_a_secret_is_read_where_the_job_runs_and_stored_nowhere(job_site: JobSite, tmp_path: Path) -> None:
    folder = await shared_folder(job_site, tmp_path)
    (tmp_path / "key").write_text("s3cret\n")
    reference = {"KEY": spec_pb2.SecretReference(file="/files/key")}
    made = await create(
        job_site,
        '[ "${#KEY}" = 6 ]',
        secret_env=reference,
        fs={"name": folder, "mount_path": "/files"},
        **small(),
    )
    over = await until(job_site, made.id, *OVER)
    assert (over.state, over.message) == (job_pb2.JOB_STATE_SUCCEEDED, "")
    assert "s3cret" not in str(over)
