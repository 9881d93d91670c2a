"""Documents as people wrote them for PaddleFlow 1 run to their end."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixtures_jobs import JobSite
from paddleflow.common.v1.resources_pb2 import Resources
from paddleflow.job.v1 import job_pb2, spec_pb2
from paddleflow.jobs.documents import read_spec
from paddleflow.queue.v1 import queue_pb2
from support.job_harm import found
from support.job_logs import SMALL, over
from support.repository import ROOT

DOCUMENTS = sorted((ROOT / "tests/data/jobs").glob("*.json"))


def small(spec: spec_pb2.JobSpec) -> spec_pb2.JobSpec:
    """With little of each resource, and without accelerators, which a test machine does not have."""
    spec.flavour.CopyFrom(SMALL)
    for member in spec.members:
        member.flavour.CopyFrom(SMALL)
    return spec


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
async def test_a_document_runs_to_its_end(job_site: JobSite, path: Path) -> None:
    queue = queue_pb2.Queue(
        name=f"team-{job_site.tag}", cluster="default-cluster", max=Resources(amounts={"cpu": 4_000, "memory": 2**33})
    )
    await job_site.queues(queue_pb2.CreateQueueRequest(queue=queue))
    text = path.read_text().replace('"team-a"', f'"{queue.name}"')
    draft = job_pb2.Job(spec=small(read_spec(text)))
    made = (await job_site.root(job_pb2.CreateJobRequest(job=draft))).job
    job = await found(job_site, await over(job_site, made.id))
    assert (job.state, job.message) == (job_pb2.JOB_STATE_SUCCEEDED, "")
    images = dict.fromkeys(image for image in (draft.spec.image, *(each.image for each in draft.spec.members)) if image)
    words = "passed over on a local cluster, which runs the programs of its machine: image"
    assert list(job.notes) == ([f"{words} {', '.join(images)}"] if images else [])
