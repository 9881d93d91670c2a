"""The original's call about logs of runs over the typed client."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

from paddleflow.compat.answers import answer
from paddleflow.original_run_logs import LogPage, Paging, job_ids, read_pages, submit_log
from paddleflow.sync import PaddleFlow


@dataclass(frozen=True, slots=True)
class LogInfo:
    """A page of what a replica of a job has written."""

    runid: str
    jobid: str
    taskid: str
    """Of the replica: attempt, role and number."""
    has_next_page: bool
    truncated: bool
    """Always False: pages are cut between lines."""
    pagesize: int
    pageno: int
    log_content: str

    @classmethod
    def of(cls, run_id: str, page: LogPage, paging: Paging) -> LogInfo:
        return cls(
            runid=run_id,
            jobid=page.job_id,
            taskid=page.task_id,
            has_next_page=page.more,
            truncated=False,
            pagesize=paging.size,
            pageno=paging.number,
            log_content=page.text,
        )


class RunLog(TypedDict):
    """What became of a run, and what its jobs have written."""

    submitLog: str
    runLog: list[LogInfo]


class RunLogCalls:
    """What `Client` reads of the jobs of runs."""

    _paddleflow: PaddleFlow

    @answer
    def show_log(
        self,
        run_id: str,
        job_id: str | None = None,
        page_size: int | str | None = None,
        page_no: int | str | None = None,
        log_file_position: str | None = None,
    ) -> RunLog:
        """A page of the log of each job of a run, or of one; pages are counted from the begin or from the end."""
        paging = Paging.of(page_size, page_no, log_file_position)
        jobs = [job_id] if job_id else job_ids(self._paddleflow.runs.nodes(run_id))
        pages = read_pages(self._paddleflow, jobs, paging)
        return {
            "submitLog": submit_log(self._paddleflow, run_id),
            "runLog": [LogInfo.of(run_id, page, paging) for page in pages],
        }
