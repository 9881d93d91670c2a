"""Jobs that are forgotten, requests that come again, and how much a job may be made to hold."""

from __future__ import annotations

import pytest

from fixtures_jobs import JobSite
from paddleflow.common.v1 import event_pb2
from paddleflow.fs.v1 import fs_pb2
from paddleflow.job.v1 import job_pb2, spec_pb2
from paddleflow.problems import InvalidArgument, JobExists, JobNotFound, JobStateConflict, Problem
from support.job_logs import create, over, wrote
from support.waiting import eventually


async def deleted(site: JobSite, id_: str) -> job_pb2.DeleteJobRequest:
    """Deletes a job that is about to be over; returns how."""
    request = job_pb2.DeleteJobRequest(id=id_, request_id=f"delete-{id_}")

    async def is_deleted() -> bool:
        try:
            await site.root(request)
        except JobStateConflict:
            return False
        return True

    await eventually(is_deleted)
    return request


async def test_a_deletion_that_is_sent_again_gets_the_same_reply(job_site: JobSite) -> None:
    request = await deleted(job_site, await wrote(job_site, "true"))
    assert await job_site.root(request) == job_pb2.DeleteJobResponse()
    request.request_id = "another"
    with pytest.raises(JobNotFound):
        await job_site.root(request)


async def test_an_id_is_not_given_again_as_long_as_it_is_remembered(job_site: JobSite) -> None:
    spec = spec_pb2.JobSpec(id=f"once-{job_site.tag}", command="true")
    created = job_pb2.CreateJobRequest(job=job_pb2.Job(spec=spec))
    await job_site.root(created)
    await deleted(job_site, await over(job_site, spec.id))
    with pytest.raises(JobExists, match="not long ago"):
        await job_site.root(created)
    batch = job_pb2.CreateJobsRequest(jobs=[created.job])
    assert [result.reason for result in (await job_site.root(batch)).results] == ["JOB_EXISTS"]


async def test_whoever_watches_hears_that_a_job_has_expired(job_site: JobSite) -> None:
    limits = spec_pb2.TimeLimits()
    limits.kept.FromMilliseconds(1)
    id_ = await create(job_site, "true", limits=limits)
    kinds = []
    async for reply in job_site.root.watch(job_pb2.WatchJobsRequest(id=id_)):
        kinds += [event.kind for event in reply.events]
        if event_pb2.CHANGE_KIND_DELETED in kinds:
            break
    assert kinds[-1] == event_pb2.CHANGE_KIND_DELETED


async def test_a_creation_that_is_sent_again_gets_the_same_reply_though_it_could_not_be_made_now(
    job_site: JobSite,
) -> None:
    folder = job_site.process.fs.roots / "root" / job_site.tag
    folder.mkdir(parents=True)
    draft = fs_pb2.Filesystem(name=f"f{job_site.tag}", url=f"local://{folder}")
    filesystem = (await job_site.filesystems(fs_pb2.CreateFilesystemRequest(filesystem=draft))).filesystem
    spec = spec_pb2.JobSpec(command="true", fs=spec_pb2.FilesystemMount(name=filesystem.name))
    request = job_pb2.CreateJobRequest(job=job_pb2.Job(spec=spec), request_id=f"create-{job_site.tag}")
    made = await job_site.root(request)
    key = fs_pb2.FilesystemKey(id=filesystem.id)
    await job_site.filesystems(fs_pb2.DeleteFilesystemRequest(filesystem=key))
    assert await job_site.root(request) == made
    request.request_id = "another"
    with pytest.raises(Problem, match="no filesystem"):
        await job_site.root(request)


async def test_a_job_does_not_gather_labels_without_end(job_site: JobSite) -> None:
    id_ = await create(job_site, "true", labels={f"first-{n}": "" for n in range(60)})
    more = {f"second-{n}": "" for n in range(5)}
    with pytest.raises(InvalidArgument, match="labels: must have at most 64 pairs, and has 65"):
        await job_site.root(job_pb2.UpdateJobRequest(id=id_, labels=more))
    await job_site.root(job_pb2.UpdateJobRequest(id=id_, labels=more, labels_removed=["first-0"]))
