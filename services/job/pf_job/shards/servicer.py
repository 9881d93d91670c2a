"""ShardService on the wire."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from paddleflow.job.v1 import shard_pb2, shard_pb2_grpc
from paddleflow.problems import PermissionDenied
from pf_job.jobs.bearers import Bearer, bearer_of
from pf_job.jobs.store import job_lock
from pf_job.shards.convert import (
    dataset_message,
    duration,
    finished_of,
    job_named,
    lease_message,
    lease_of,
    leases_of,
    named,
    pass_of,
    plan_of,
    reason_of,
    shard_message,
    states_of,
    status_message,
)
from pf_job.shards.domain import Dataset, DatasetKey, Lease, Shard
from pf_job.shards.service import Answer, Call, Shards
from pf_job.shards.sheet import Ask, Finish, GiveBack, PassOver, Renew, Wait, Wish
from pf_job.shards.store import Place, ShardStore
from pf_job.shards.together import Together
from pf_kit.call import current_call
from pf_kit.lists import Lists
from pf_kit.mutation import Mutations, request_id_of
from pf_kit.unit import Change, Database


class ShardServicer(shard_pb2_grpc.ShardServiceServicer):
    """Hands out the data of jobs."""

    def __init__(
        self,
        *,
        database: Database,
        mutations: Mutations,
        lists: Lists,
        store: ShardStore,
        shards: Shards,
        together: Together,
    ) -> None:
        self._database = database
        self._mutations = mutations
        self._lists = lists
        self._store = store
        self._shards = shards
        self._together = together

    async def OpenDataset(
        self, request: shard_pb2.OpenDatasetRequest, _context: object
    ) -> shard_pb2.OpenDatasetResponse:
        plan = plan_of(request)
        key = await self._changeable(job_named(request.job_id), request.dataset.name)
        # Most trainers find it as it is to be: that changes nothing, and needs no commit.
        for found in await self._store.datasets(self._database.newest, key.job, [key.name]):
            if found.plan == plan:
                return shard_pb2.OpenDatasetResponse(dataset=dataset_message(found))

        async def work(change: Change) -> shard_pb2.OpenDatasetResponse:
            made = await self._shards.open(change, key, plan, request.items)
            return shard_pb2.OpenDatasetResponse(dataset=dataset_message(made))

        return await self._mutations.run(
            request, shard_pb2.OpenDatasetResponse, locks=(job_lock(key.job),), subject=_subject(key), work=work
        )

    async def LeaseShard(self, request: shard_pb2.LeaseShardRequest, _context: object) -> shard_pb2.LeaseShardResponse:
        wanted, name = pass_of("pass_number", request.pass_number), named("dataset", request.dataset)
        bearer = _bearer()
        wish = Wish(bearer.replica, wanted, request_id_of(request))
        asks: list[Ask] = [Finish(finished_of(request))] if request.HasField("finished") else []
        *before, answer = await asyncio.gather(*(self._answer(bearer, name, ask) for ask in (*asks, wish)))
        counted = any(each.outcome is True for each in before)
        reply = shard_pb2.LeaseShardResponse(pass_number=answer.dataset.pass_, counted=counted)
        match answer.outcome:
            case Shard() as shard:
                reply.shard.CopyFrom(await self._shard(answer.dataset, shard))
            case Wait(time):
                reply.wait.CopyFrom(duration(time))
            case PassOver():
                reply.pass_over = True
            case _:
                reply.over = True
        return reply

    async def FinishShard(
        self, request: shard_pb2.FinishShardRequest, _context: object
    ) -> shard_pb2.FinishShardResponse:
        lease = lease_of("lease", request.lease)
        answer = await self._answer(_bearer(), request.lease.dataset, Finish(lease))
        return shard_pb2.FinishShardResponse(counted=answer.outcome is True)

    async def ReturnShard(
        self, request: shard_pb2.ReturnShardRequest, _context: object
    ) -> shard_pb2.ReturnShardResponse:
        lease = lease_of("lease", request.lease)
        ask = GiveBack(lease, reason_of(request), request.failed)
        answer = await self._answer(_bearer(), request.lease.dataset, ask)
        return shard_pb2.ReturnShardResponse(counted=answer.outcome is True)

    async def RenewLeases(
        self, request: shard_pb2.RenewLeasesRequest, _context: object
    ) -> shard_pb2.RenewLeasesResponse:
        bearer, leases = _bearer(), leases_of(request)
        answers = await asyncio.gather(*(self._answer(bearer, name, Renew(mine)) for name, mine in leases.items()))
        held = [lease_message(answer.dataset.key.name, lease) for answer in answers for lease in _leases(answer)]
        return shard_pb2.RenewLeasesResponse(held=held)

    async def GetDataset(self, request: shard_pb2.GetDatasetRequest, _context: object) -> shard_pb2.GetDatasetResponse:
        key = await self._visible(job_named(request.job_id), named("name", request.name))
        dataset = await self._shards.get(self._database.newest, key)
        return shard_pb2.GetDatasetResponse(dataset=dataset_message(dataset))

    async def ListDatasets(
        self, request: shard_pb2.ListDatasetsRequest, _context: object
    ) -> shard_pb2.ListDatasetsResponse:
        view, job = self._database.newest, (await self._visible(job_named(request.job_id), "")).job
        page = await self._lists.page(
            request,
            lambda after, limit: self._store.page(view, job, after, limit),
            lambda dataset: dataset.key.name,
        )
        return shard_pb2.ListDatasetsResponse(
            datasets=map(dataset_message, page.things), next_page_token=page.next_token
        )

    async def ListShards(self, request: shard_pb2.ListShardsRequest, _context: object) -> shard_pb2.ListShardsResponse:
        view, states = self._database.newest, states_of(request)
        key = await self._visible(job_named(request.job_id), named("dataset", request.dataset))
        dataset = await self._shards.get(view, key)
        page = await self._lists.page(
            request,
            lambda after, limit: self._store.shards(view, key, states, _place(after), limit),
            lambda shard: f"{shard.lease.pass_}/{shard.lease.number}",
        )
        return shard_pb2.ListShardsResponse(
            shards=[status_message(dataset, shard) for shard in page.things], next_page_token=page.next_token
        )

    async def ResetDataset(
        self, request: shard_pb2.ResetDatasetRequest, _context: object
    ) -> shard_pb2.ResetDatasetResponse:
        pass_ = pass_of("pass_number", request.pass_number) or 1
        key = await self._changeable(job_named(request.job_id), named("name", request.name))

        async def work(change: Change) -> shard_pb2.ResetDatasetResponse:
            return shard_pb2.ResetDatasetResponse(dataset=dataset_message(await self._shards.reset(change, key, pass_)))

        return await self._mutations.run(
            request, shard_pb2.ResetDatasetResponse, locks=(job_lock(key.job),), subject=_subject(key), work=work
        )

    async def _answer(self, bearer: Bearer, dataset: str, ask: Ask) -> Answer:
        return await self._together.answer(Call(bearer, dataset, ask))

    async def _shard(self, dataset: Dataset, shard: Shard) -> shard_pb2.Shard:
        span = dataset.plan.span(shard.lease.number)
        view, listed = self._database.newest, bool(dataset.plan.digest)
        items = await self._store.items(view, dataset.key, span.first, span.count) if listed else []
        return shard_message(dataset, shard, items)

    async def _visible(self, job: str, name: str) -> DatasetKey:
        """A dataset at which the caller may look."""
        return DatasetKey(await self._shards.visible(self._database.newest, current_call().principal, job), name)

    async def _changeable(self, job: str, name: str) -> DatasetKey:
        """A dataset that the caller may make or reset."""
        return DatasetKey(await self._shards.changeable(self._database.newest, current_call().principal, job), name)


def _bearer() -> Bearer:
    """The replica that calls."""
    bearer = bearer_of(current_call().principal)
    if bearer is None:
        raise PermissionDenied("only the replicas of a job lease its shards, with the token of the job")
    return bearer


def _leases(answer: Answer) -> Sequence[Lease]:
    return answer.outcome if isinstance(answer.outcome, list) else []


def _place(after: str) -> Place:
    pass_, _, number = after.partition("/")
    return (int(pass_), int(number)) if after else (0, -1)


def _subject(key: DatasetKey) -> str:
    return f"job/{key.job}/dataset/{key.name}"
