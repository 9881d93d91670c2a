"""What the jobs of a run have written, page by page, as the original reads it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from paddleflow.models.logs import LogOptions, LogReplica
from paddleflow.original import original_time
from paddleflow.problems import InvalidArgument, Violation

if TYPE_CHECKING:
    from paddleflow.models.nodes import RunNode
    from paddleflow.sync import PaddleFlow

LINES = 100
"""Of a page, if nothing is said, and at most."""
MOST_PAGES = 10_000


class Position(StrEnum):
    """Where the first page is."""

    BEGIN = "begin"
    END = "end"


@dataclass(frozen=True, slots=True)
class Paging:
    """Which page, of how many lines, counted from where."""

    size: int = LINES
    number: int = 1
    position: Position = Position.END

    @classmethod
    def of(cls, size: object, number: object, position: str | None) -> Paging:
        """The page that was asked for; raises InvalidArgument naming what cannot be."""
        if position and position not in set(Position):
            raise InvalidArgument.of(Violation("logFilePosition", f"must be begin or end, and is {position[:20]!r}"))
        return cls(
            _number("pageSize", size, LINES, LINES),
            _number("pageNo", number, 1, MOST_PAGES),
            Position(position or Position.END),
        )

    @property
    def reach(self) -> LogOptions:
        """What reads up to the end of the page, and a line more if there is one."""
        lines = self.size * self.number + 1
        return {"max_lines": lines} if self.position is Position.BEGIN else {"tail_lines": lines}

    def cut(self, lines: list[bytes]) -> tuple[list[bytes], bool]:
        """The lines of the page of those that were read, and whether there are more behind it."""
        more, last = len(lines) > self.size * self.number, self.size * self.number
        if self.position is Position.BEGIN:
            return lines[last - self.size : last], more
        end = len(lines) - (last - self.size)
        return lines[max(end - self.size, 0) : max(end, 0)], more


@dataclass(frozen=True, slots=True)
class LogPage:
    """A page of what one replica of a job has written."""

    job_id: str
    replica: LogReplica
    text: str
    more: bool
    """True if there are more pages."""

    @property
    def task_id(self) -> str:
        return f"{self.replica.attempt}/{self.replica.role}/{self.replica.index}"


def job_ids(nodes: Iterable[RunNode]) -> list[str]:
    """The jobs of these nodes, each once."""
    return list(dict.fromkeys(node.job_id for node in nodes if node.job_id))


def read_pages(paddleflow: PaddleFlow, jobs: Iterable[str], paging: Paging) -> Iterator[LogPage]:
    """The page of each replica of these jobs."""
    for job_id in jobs:
        data: defaultdict[LogReplica, bytes] = defaultdict(bytes)
        for chunk in paddleflow.logs.read(job_id, **paging.reach):
            data[chunk.replica] += chunk.data
        for replica, text in data.items():
            lines, more = paging.cut(text.splitlines(keepends=True))
            yield LogPage(job_id, replica, b"".join(lines).decode(errors="replace"), more)


def submit_log(paddleflow: PaddleFlow, run_id: str) -> str:
    """What became of the run itself, a line for each happening."""
    told = (each for each in paddleflow.runs.happenings(run_id) if not each.path)
    return "\n".join(" ".join(filter(None, [original_time(each.time), each.what, each.message])) for each in told)


def _number(field: str, told: object, default: int, most: int) -> int:
    text = str(told or default)
    if not (text.isascii() and text.isdecimal()) or not 1 <= int(text[:9]) <= most:
        raise InvalidArgument.of(Violation(field, f"must be from 1 to {most}, and is {text[:20]!r}"))
    return int(text)
