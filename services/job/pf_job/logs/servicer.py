"""LogService on the wire."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing

from paddleflow.job.v1 import log_pb2, log_pb2_grpc
from pf_job.jobs.domain import ENDED
from pf_job.jobs.service import Jobs
from pf_job.jobs.states import FINAL
from pf_job.jobs.store import JobStore
from pf_job.logs.convert import choice_of, chunk_message, info_message, query_of
from pf_job.logs.domain import Known, Standing
from pf_job.logs.service import Logs
from pf_job.runtimes.port import ReplicaKey
from pf_kit.call import current_call
from pf_kit.lists import Lists
from pf_kit.principal import Principal
from pf_kit.unit import Database


class LogServicer(log_pb2_grpc.LogServiceServicer):
    """Reads logs for whoever may see their jobs."""

    def __init__(
        self,
        *,
        database: Database,
        lists: Lists,
        store: JobStore,
        jobs: Jobs,
        logs: Logs,
        recheck: Callable[[Principal], Awaitable[None]],
    ) -> None:
        """`recheck` raises if the token of a caller is not good any more."""
        self._database = database
        self._lists = lists
        self._store = store
        self._jobs = jobs
        self._logs = logs
        self._recheck = recheck

    async def ReadLog(
        self, request: log_pb2.ReadLogRequest, _context: object
    ) -> AsyncIterator[log_pb2.ReadLogResponse]:
        caller, query = current_call().principal, query_of(request)

        async def look() -> Standing:
            await self._recheck(caller)
            return await self._look(caller, query.choice.job)

        async with aclosing(self._logs.read(query, look)) as chunks:
            async for chunk in chunks:
                yield chunk_message(chunk)

    async def GetLogInfo(self, request: log_pb2.GetLogInfoRequest, _context: object) -> log_pb2.GetLogInfoResponse:
        choice = choice_of(request.choice)
        replicas = self._logs.replicas(choice, await self._look(current_call().principal, choice.job))

        async def fetch(after: str, limit: int) -> Sequence[tuple[int, ReplicaKey]]:
            begin = int(after or 0)
            return [(begin + n + 1, each.key) for n, each in enumerate(replicas[begin : begin + limit])]

        page = await self._lists.page(request, fetch, lambda numbered: str(numbered[0]))
        found = [await self._logs.info(key, count=len(replicas) == 1) for _, key in page.things]
        logs = [info_message(info) for info in found if info is not None]
        return log_pb2.GetLogInfoResponse(logs=logs, next_page_token=page.next_token)

    async def _look(self, caller: Principal, id_: str) -> Standing:
        view = self._database.newest
        job = await self._jobs.get(view, caller, id_)
        tasks = await self._store.tasks(view, [id_], 0)
        known = [Known(task.key, task.state in ENDED) for task in tasks]
        return Standing(job.life.attempt, job.life.state in FINAL, known)
