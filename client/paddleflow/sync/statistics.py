# Written by tools/generate_sync.py from paddleflow/aio/statistics.py; change it there.
"""What jobs used of their machines, and for how long they held what of their queues."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Unpack

import grpc

from paddleflow.job.v1 import statistics_pb2_grpc
from paddleflow.models.pages import Page
from paddleflow.models.statistics import (
    CardTime,
    CardTimeFilter,
    CardTimeGroup,
    JobStatistics,
    TaskSeries,
    TaskStatistics,
    UsageOptions,
)
from paddleflow.sync.pages import LARGE_PAGE, every
from paddleflow.sync.session import Session
from paddleflow.wire import statistics as wire


class Statistics:
    """What jobs used and held. Who may see a job may see that too."""

    def __init__(self, session: Session, channel: grpc.Channel) -> None:
        self._session = session
        self._stub: statistics_pb2_grpc.StatisticsServiceStub = statistics_pb2_grpc.StatisticsServiceStub(channel)

    def job(self, id: str, **options: Unpack[UsageOptions]) -> JobStatistics:  # noqa: A002 -- the word of the contract
        """Averages, peaks and totals: of all replicas together, and of each."""
        request = wire.statistics_request(id, options, LARGE_PAGE, "")
        first = reply = self._session.call(self._stub.GetJobStatistics, request)
        tasks: list[TaskStatistics] = []
        while True:
            tasks += map(wire.task_statistics_from_wire, reply.tasks)
            if not reply.next_page_token:
                break
            request.page_token = reply.next_page_token
            reply = self._session.call(self._stub.GetJobStatistics, request)
        return JobStatistics(metrics=wire.metrics_from_wire(first.job), tasks=tasks, notes=tuple(first.notes))

    def series(
        self,
        id: str,  # noqa: A002 -- the word of the contract
        step: timedelta | None = None,
        **options: Unpack[UsageOptions],
    ) -> Iterator[TaskSeries]:
        """What each replica has used, step by step; fetches page after page."""
        return every(lambda size, token: self.series_page(id, step, size, token, **options))

    def series_page(
        self,
        id: str,  # noqa: A002 -- the word of the contract
        step: timedelta | None = None,
        size: int = 0,
        token: str = "",
        **options: Unpack[UsageOptions],
    ) -> Page[TaskSeries]:
        """One page of it: at most `size` replicas (0: as many as the server likes) from the token on."""
        request = wire.series_request(id, step, options, size, token)
        reply = self._session.call(self._stub.GetJobSeries, request)
        return Page([wire.task_series_from_wire(reply, task) for task in reply.tasks], reply.next_page_token)

    def card_times(
        self, group: CardTimeGroup = CardTimeGroup.QUEUE, **chosen: Unpack[CardTimeFilter]
    ) -> Iterator[CardTime]:
        """For how long jobs held what, by queue, user and job; fetches page after page."""
        return every(lambda size, token: self.card_time_page(group, size, token, **chosen))

    def card_time_page(
        self,
        group: CardTimeGroup = CardTimeGroup.QUEUE,
        size: int = 0,
        token: str = "",
        **chosen: Unpack[CardTimeFilter],
    ) -> Page[CardTime]:
        """One page of it: at most `size` of them (0: as many as the server likes) from the token on."""
        request = wire.card_times_request(group, chosen, size, token)
        reply = self._session.call(self._stub.GetCardTimes, request)
        return Page([wire.card_time_from_wire(each) for each in reply.card_times], reply.next_page_token)
