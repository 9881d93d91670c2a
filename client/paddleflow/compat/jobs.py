"""The original's calls about jobs over the typed client."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from paddleflow.compat.answers import answer, list_answer
from paddleflow.compat.job_infos import JobInfo
from paddleflow.jobs.documents import read_spec
from paddleflow.models.job_specs import Priority
from paddleflow.models.jobs import JobChanges, JobFilter, JobState, JobType
from paddleflow.models.pages import Page
from paddleflow.original import member
from paddleflow.problems import InvalidArgument, Violation
from paddleflow.sync import PaddleFlow
from paddleflow.wire.job_specs import spec_from_wire

Words = Mapping[str, str]


class JobCalls:
    """What `Client` does with jobs."""

    _paddleflow: PaddleFlow

    @answer
    def create_job(self, job_type: str, job_request: Mapping[str, Any]) -> str:
        """Runs the job that this document describes; returns its id."""
        kind = member(JobType, job_type, "jobType")
        return self._paddleflow.jobs.create(spec_from_wire(read_spec(_document(job_request))), type=kind).id

    @answer
    def show_job(self, jobid: str) -> JobInfo:
        return JobInfo.of(self._paddleflow.jobs.get(jobid), list(self._paddleflow.jobs.tasks(jobid)))

    @list_answer
    def list_job(
        self,
        status: str | None = None,
        timestamp: int | str | None = None,
        start_time: int | str | None = None,
        queue: str | None = None,
        labels: Words | None = None,
        maxkeys: int | None = None,
        marker: str | None = None,
    ) -> Page[JobInfo]:
        """Jobs, the newest first; times are seconds since the epoch, or written as in ``2026-05-01 12:00:00``.

        What a job's replicas do is not told here; `show_job` does.
        """
        chosen: JobFilter = {
            "states": [member(JobState, status, "status")] if status else (),
            "queue": queue or "",
            "labels": labels or {},
        }
        if timestamp:
            chosen["updated_since"] = moment("timestamp", timestamp)
        if start_time:
            chosen["started_since"] = moment("startTime", start_time)
        page = self._paddleflow.jobs.page(int(maxkeys or 0), marker or "", **chosen)
        return Page([JobInfo.of(job) for job in page.items], page.next_token)

    @answer
    def update_job(
        self,
        jobid: str,
        priority: str | None = None,
        labels: Words | None = None,
        annotations: Words | None = None,
    ) -> None:
        """Changes what is given; an empty label or annotation goes away."""
        changes: JobChanges = {"labels": _changed(labels), "annotations": _changed(annotations)}
        if priority:
            changes["priority"] = member(Priority, priority, "priority")
        self._paddleflow.jobs.update(jobid, **changes)

    @answer
    def stop_job(self, jobid: str) -> None:
        self._paddleflow.jobs.stop(jobid)

    @answer
    def delete_job(self, jobid: str) -> None:
        self._paddleflow.jobs.delete(jobid)


def _document(request: Mapping[str, Any]) -> str:
    try:
        return json.dumps(request)
    except (TypeError, ValueError) as error:
        raise InvalidArgument.of(Violation("job_request", f"is no document: {error}")) from error


def _changed(pairs: Words | None) -> dict[str, str | None]:
    return {name: value or None for name, value in (pairs or {}).items()}


def moment(field: str, told: int | str) -> datetime:
    try:
        if str(told).isdecimal():
            return datetime.fromtimestamp(int(told), UTC)
        moment = datetime.fromisoformat(str(told))
    except (ValueError, OverflowError, OSError) as error:
        raise InvalidArgument.of(Violation(field, f"{told!r} is no time such as 2026-05-01 12:00:00")) from error
    return moment if moment.tzinfo else moment.astimezone(UTC)
