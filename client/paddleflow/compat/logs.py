"""The original's call about logs of jobs over the typed client."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TypedDict

from paddleflow.compat.answers import answer
from paddleflow.models.jobs import Happening
from paddleflow.models.logs import LogInfo, LogReplica
from paddleflow.original import original_time
from paddleflow.original_logs import LINES, MOST_LINES, SIZE, limited, size_of
from paddleflow.problems import InvalidArgument, NotServed, Violation
from paddleflow.sync import PaddleFlow


@dataclass(frozen=True, slots=True)
class Limit:
    """How much is read of each replica."""

    lines: int
    size: str
    from_tail: bool
    """True: the last of it."""


@dataclass(frozen=True, slots=True)
class LogInfoByLimit:
    """What a replica of a job has written, with the attributes of the original."""

    job_id: str
    task_id: str
    """Of the replica: attempt, role and number."""
    name: str
    has_next_page: bool
    """True if there is more behind it."""
    truncated: bool
    """True if this is not all that is kept."""
    line_limit: int
    size_limit: str
    log_content: str

    @classmethod
    def of(cls, job: str, info: LogInfo, data: bytes, limit: Limit) -> LogInfoByLimit:
        replica, cut = info.replica, len(data) < info.size - info.kept_from
        return cls(
            job_id=job,
            task_id=f"{replica.attempt}/{replica.role}/{replica.index}",
            name="",
            has_next_page=cut and not limit.from_tail,
            truncated=cut,
            line_limit=limit.lines,
            size_limit=limit.size,
            log_content=data.decode(errors="replace"),
        )


class LimitedLogs(TypedDict):
    """The logs of a job, and what happened to it."""

    eventList: list[str]
    logs: list[LogInfoByLimit]


class LogCalls:
    """What `Client` reads of jobs."""

    _paddleflow: PaddleFlow

    @answer
    def show_log_by_limit(
        self,
        job_id: str | None = None,
        name: str | None = None,
        namespace: str | None = None,  # noqa: ARG002 -- as below
        cluster_name: str | None = None,  # noqa: ARG002 -- as below
        read_from_tail: object = None,
        line_limit: int | str | None = None,
        size_limit: str | None = None,
        type: str | None = None,  # noqa: A002, ARG002 -- names an object of Kubernetes, and none of them has logs here
        framework: str | None = None,  # noqa: ARG002 -- the job knows
    ) -> LimitedLogs:
        """So much of what each replica of a job has written: the first of it, or the last."""
        if not job_id:
            raise NotServed(f"logs of {name or 'objects of Kubernetes'} are not served; name a job by job_id")
        limit = Limit(_lines(line_limit), size_limit or SIZE, bool(read_from_tail))
        whole = list(self._paddleflow.logs.info(job_id))
        options = limited(limit.lines, _bytes(limit.size), from_tail=limit.from_tail)
        data: defaultdict[LogReplica, bytes] = defaultdict(bytes)
        for chunk in self._paddleflow.logs.read(job_id, **options):
            data[chunk.replica] += chunk.data
        return {
            "eventList": [_event(each) for each in self._paddleflow.jobs.happenings(job_id)],
            "logs": [LogInfoByLimit.of(job_id, info, data[info.replica], limit) for info in whole],
        }


def _lines(told: int | str | None) -> int:
    text = str(told or LINES)
    if not text.isdecimal() or not 1 <= int(text) <= MOST_LINES:
        raise InvalidArgument.of(Violation("line_limit", f"must be from 1 to {MOST_LINES}, and is {text[:20]!r}"))
    return int(text)


def _bytes(text: str) -> int:
    if (size := size_of(text)) is None:
        raise InvalidArgument.of(
            Violation("size_limit", f"{text[:20]!r} is no size such as 100M, or a number of bytes")
        )
    return size


def _event(happening: Happening) -> str:
    return " ".join(filter(None, [original_time(happening.time), happening.what, happening.message]))
