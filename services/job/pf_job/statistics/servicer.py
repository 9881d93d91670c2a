"""StatisticsService on the wire."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from paddleflow.job.v1 import statistics_pb2 as pb
from paddleflow.job.v1 import statistics_pb2_grpc
from pf_job.jobs.domain import Task
from pf_job.jobs.service import Jobs
from pf_job.jobs.sight import Sight
from pf_job.statistics import convert
from pf_job.statistics.curves import MOST_STEPS, SECOND, Grid, grid
from pf_job.statistics.domain import CardQuery, CardTime, Metered, Window, together
from pf_job.statistics.service import Meters
from pf_job.statistics.store import CardTimeStore
from pf_kit.call import current_call
from pf_kit.clock import Clock
from pf_kit.lists import Lists
from pf_kit.principal import Principal
from pf_kit.unit import Database

MOST_MEANS = 50_000
"""Steps of all replicas together by which the peak of a job is told: a tenth of a second of work."""
MOST_SERIES = 20
"""Replicas in one reply: each has up to nine series of 1000 means."""


class StatisticsServicer(statistics_pb2_grpc.StatisticsServiceServicer):
    """Tells whoever may see jobs what these used and held."""

    def __init__(
        self,
        *,
        database: Database,
        lists: Lists,
        jobs: Jobs,
        sight: Sight,
        meters: Meters,
        card_times: CardTimeStore,
        clock: Clock,
    ) -> None:
        self._database = database
        self._lists = lists
        self._jobs = jobs
        self._sight = sight
        self._meters = meters
        self._card_times = card_times
        self._clock = clock

    async def GetJobStatistics(
        self, request: pb.GetJobStatisticsRequest, _context: object
    ) -> pb.GetJobStatisticsResponse:
        convert.require_job(request)
        tasks = await self._begun(request)
        window = convert.window_of(request, tasks, self._clock.now())
        metered = await self._metered(request, tasks, window, _steps(window, len(tasks)))
        by_key = {task.key: task for task in tasks}

        async def fetch(after: str, limit: int) -> Sequence[tuple[int, Metered]]:
            begin = int(after or 0)
            return [(begin + n + 1, each) for n, each in enumerate(metered[begin : begin + limit])]

        page = await self._lists.page(request, fetch, lambda numbered: str(numbered[0]))
        return pb.GetJobStatisticsResponse(
            job=[convert.summary_message(metric, found) for metric, found in together(metered).items()],
            tasks=[convert.task_statistics(by_key[each.key], each) for _, each in page.things],
            notes=convert.notes_of(metered),
            next_page_token=page.next_token,
        )

    async def GetJobSeries(self, request: pb.GetJobSeriesRequest, _context: object) -> pb.GetJobSeriesResponse:
        convert.require_job(request)
        if request.page_size == 0 or request.page_size > MOST_SERIES:
            request.page_size = MOST_SERIES
        tasks = await self._begun(request)
        window = convert.window_of(request, tasks, self._clock.now())
        steps = grid(window.begin, window.end, convert.step_of(request))

        async def fetch(after: str, limit: int) -> Sequence[tuple[int, Task]]:
            begin = int(after or 0)
            return [(begin + n + 1, task) for n, task in enumerate(tasks[begin : begin + limit])]

        page = await self._lists.page(request, fetch, lambda numbered: str(numbered[0]))
        metered = await self._metered(request, [task for _, task in page.things], window, steps)
        return convert.series_reply(steps, metered, page.next_token)

    async def GetCardTimes(self, request: pb.GetCardTimesRequest, _context: object) -> pb.GetCardTimesResponse:
        query = await self._seen_by(current_call().principal, convert.card_query(request, self._clock.now()))

        async def fetch(after: str, limit: int) -> Sequence[CardTime]:
            return await self._card_times.card_times(self._database.newest, query, convert.place_of(after), limit)

        page = await self._lists.page(request, fetch, lambda found: convert.position_of(found.place))
        return convert.card_times_reply(query, page.things, page.next_token)

    async def _begun(self, request: pb.GetJobStatisticsRequest | pb.GetJobSeriesRequest) -> Sequence[Task]:
        """The replicas that are meant and have begun. Raises JobNotFound."""
        view, caller = self._database.newest, current_call().principal
        tasks = await self._jobs.tasks(view, caller, request.id, request.attempt)
        return [task for task in tasks if task.start_time is not None]

    async def _metered(
        self,
        request: pb.GetJobStatisticsRequest | pb.GetJobSeriesRequest,
        tasks: Sequence[Task],
        window: Window,
        steps: Grid,
    ) -> Sequence[Metered]:
        job = await self._jobs.get(self._database.newest, current_call().principal, request.id)
        return await self._meters.metered(job, tasks, window, steps)

    async def _seen_by(self, caller: Principal, query: CardQuery) -> CardQuery:
        """The same, but for jobs that a caller may not see."""
        if caller.root:
            return query
        viewer, granted = await self._sight.identity(caller), await self._sight.granted(caller)
        return replace(query, viewer=viewer, granted=granted)


def _steps(window: Window, replicas: int) -> Grid:
    """The steps in which replicas are added up: none if there is but one, which has a peak of its own."""
    if replicas < 2:
        return Grid(window.begin, SECOND, 0)
    most = max(1, min(MOST_STEPS, MOST_MEANS // replicas))
    return grid(window.begin, window.end, max(SECOND, -(-(window.end - window.begin) // most)))
