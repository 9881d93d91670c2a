"""The original's calls about statistics over the typed client."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from paddleflow.compat.answers import answer
from paddleflow.compat.jobs import moment
from paddleflow.compat.statistics_infos import CardTimeInfo, Result, StatisticsJobDetailInfo, StatisticsJobInfo
from paddleflow.models.statistics import CardTime, CardTimeFilter, CardTimeGroup, UsageOptions
from paddleflow.problems import InvalidArgument, Violation
from paddleflow.sync import PaddleFlow


class StatisticsCalls:
    """What `Client` tells of the use of resources."""

    _paddleflow: PaddleFlow

    @answer
    def get_statistics(self, job_id: str, run_id: str | None = None) -> StatisticsJobInfo:
        """Averages over the time of a job. `run_id` is not served, as in the original."""
        _require_no_run(run_id)
        return StatisticsJobInfo.of(self._paddleflow.statistics.job(job_id))

    def get_statistics_detail(
        self,
        job_id: str,
        start: int | str | None = None,
        end: int | str | None = None,
        step: int | None = None,
        run_id: str | None = None,
    ) -> tuple[bool, StatisticsJobDetailInfo | str, bool]:
        """What each replica used, step by step; a step is so many seconds. The third value is `truncated` again."""
        ok, found = self._detail(job_id, start, end, step, run_id)
        return ok, found, isinstance(found, StatisticsJobDetailInfo) and found.truncated

    @answer
    def _detail(
        self, job_id: str, start: int | str | None, end: int | str | None, step: int | None, run_id: str | None
    ) -> StatisticsJobDetailInfo:
        _require_no_run(run_id)
        options: UsageOptions = {}
        if start:
            options["start"] = moment("start", start)
        if end:
            options["end"] = moment("end", end)
        every = timedelta(seconds=int(step)) if step else None
        tasks = list(self._paddleflow.statistics.series(job_id, every, **options))
        asked = {task.role: task.metrics for task in self._paddleflow.statistics.job(job_id).tasks}
        results = [Result.of(task, asked.get(task.role, {})) for task in tasks]
        return StatisticsJobDetailInfo(results, any(task.coarser for task in tasks))

    @answer
    def get_cardtime_by_queue_name(
        self, queue_names: Sequence[str], start_time: int | str, end_time: int | str
    ) -> CardTimeInfo:
        """For how many hours the jobs of these queues held cards; times are as in ``2026-05-01 12:00:00``."""
        chosen: CardTimeFilter = {
            "queues": list(queue_names),
            "start": moment("startTime", start_time),
            "end": moment("endTime", end_time),
        }
        queues, users, jobs = (self._card_times(group, chosen) for group in CardTimeGroup if group)
        return CardTimeInfo.of(queues, users, jobs)

    def _card_times(self, group: CardTimeGroup, chosen: CardTimeFilter) -> Sequence[CardTime]:
        return list(self._paddleflow.statistics.card_times(group, **chosen))


def _require_no_run(run_id: str | None) -> None:
    if run_id:
        raise InvalidArgument.of(Violation("run_id", "is not supported yet; ask for the jobs of the run"))
