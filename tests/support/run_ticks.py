"""Schedules that are due while the services are killed, and how many runs each of their ticks has."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import product

from paddleflow.pipeline.v1 import pipeline_pb2, run_pb2, schedule_pb2
from support.run_chaos import Site

DOCUMENT = 'name: tick\ndocker_env: img\nentry_points: {never: {command: x, condition: "1 == 2"}}\n'
"""A run of it is over at once, without a job."""
SECOND = timedelta(seconds=1)
AT_ONCE = 8
"""Calls that make schedules."""
LARGEST_PAGE = 1000


@dataclass
class Ticks:
    """Schedules that have a tick in each of so many seconds."""

    made: Site
    count: int
    seconds: int
    start: datetime
    ids: Sequence[str] = ()

    async def add(self) -> None:
        """Adds the schedules."""
        request = pipeline_pb2.CreatePipelineRequest(source=pipeline_pb2.Source(document=DOCUMENT), request_id="ticks")
        pipeline, places = (await self.made.call(request)).pipeline.id, asyncio.Semaphore(AT_ONCE)
        self.ids = await asyncio.gather(*(self._add(places, pipeline, number) for number in range(self.count)))
        assert datetime.now(UTC) < self.start, "the machine is so slow that this tests nothing"

    async def _add(self, places: asyncio.Semaphore, pipeline: str, number: int) -> str:
        draft = schedule_pb2.Schedule(name=f"tick_{number}", pipeline_id=pipeline, crontab="@every 1s")
        draft.start_time.FromDatetime(self.start)
        draft.end_time.FromDatetime(self.start + self.seconds * SECOND)
        async with places:
            request = schedule_pb2.CreateScheduleRequest(schedule=draft, request_id=f"tick-{number}")
            return str((await self.made.call(request)).schedule.id)

    async def go_on(self) -> bool:
        """Whether there are ticks of which nothing became yet."""
        request = schedule_pb2.ListSchedulesRequest(states=[schedule_pb2.SCHEDULE_STATE_RUNNING], page_size=1)
        return bool((await self.made.call(request)).schedules)

    async def found(self) -> Mapping[tuple[str, datetime], int] | None:
        """How many runs each tick has, once all are over."""
        found: Counter[tuple[str, datetime]] = Counter()
        request = run_pb2.ListRunsRequest(page_size=LARGEST_PAGE)
        while True:
            page = await self.made.call(request)
            if any(run.state != run_pb2.RUN_STATE_SUCCEEDED for run in page.runs):
                return None
            found.update((each.schedule_id, each.scheduled_time.ToDatetime(UTC)) for each in page.runs)
            request.page_token = page.next_page_token
            if not request.page_token:
                return {tick: count for tick, count in found.items() if tick[0]}

    def wrongs(self, found: Mapping[tuple[str, datetime], int]) -> Sequence[str]:
        """What is not as it should be."""
        times = [self.start + number * SECOND for number in range(1, self.seconds + 1)]
        wrong = [f"{id_} has no run of {time}" for id_, time in product(self.ids, times) if (id_, time) not in found]
        return [*wrong, *(f"{tick} has {count} runs" for tick, count in found.items() if count != 1)]
