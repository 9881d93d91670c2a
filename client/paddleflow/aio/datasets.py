"""Datasets of jobs: what trainers share out among themselves."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from grpc import aio

from paddleflow.aio.pages import every
from paddleflow.aio.session import Session
from paddleflow.job.v1 import shard_pb2, shard_pb2_grpc
from paddleflow.models.pages import Page
from paddleflow.models.shards import Dataset, DatasetPlan, LeaseOutcome, ShardLease, ShardState, ShardStatus
from paddleflow.wire.base import build
from paddleflow.wire.shards import (
    SHARD_STATE,
    dataset_from_wire,
    lease_from_wire,
    lease_to_wire,
    open_request,
    outcome_from_wire,
    status_from_wire,
)


class Datasets:
    """What the trainers of a job learn from, cut into shards.

    Who may see a job may look at its datasets; who may change it may open and reset them. Shards are leased by its
    replicas alone, for which `paddleflow.shards` does all of it. With the token of a job, an empty id is that job's.
    """

    def __init__(self, session: Session, channel: aio.Channel) -> None:
        self._session = session
        self._stub: shard_pb2_grpc.ShardServiceAsyncStub = shard_pb2_grpc.ShardServiceStub(channel)

    async def open(self, job_id: str, plan: DatasetPlan, items: Sequence[str] = (), *, request_id: str = "") -> Dataset:
        """The dataset of this name, made if there is none. Raises DatasetDiffers if it was described otherwise."""
        request = open_request(job_id, plan, items)
        reply = await self._session.change(self._stub.OpenDataset, request, request_id)
        return dataset_from_wire(reply.dataset)

    async def get(self, job_id: str, name: str) -> Dataset:
        """The dataset, and how far it is. Raises DatasetNotFound."""
        request = build(shard_pb2.GetDatasetRequest, job_id=job_id, name=name)
        return dataset_from_wire((await self._session.call(self._stub.GetDataset, request)).dataset)

    def list(self, job_id: str) -> AsyncIterator[Dataset]:
        """The datasets of a job, by name; fetches page after page."""
        return every(lambda size, token: self.page(job_id, size, token))

    async def page(self, job_id: str, size: int = 0, token: str = "") -> Page[Dataset]:
        """One page of them: at most `size` (0: as many as the server likes) from the token on."""
        request = build(shard_pb2.ListDatasetsRequest, job_id=job_id, page_size=size, page_token=token)
        reply = await self._session.call(self._stub.ListDatasets, request)
        return Page([dataset_from_wire(dataset) for dataset in reply.datasets], reply.next_page_token)

    def shards(self, job_id: str, name: str, *, states: Sequence[ShardState] = ()) -> AsyncIterator[ShardStatus]:
        """The shards that are leased, wait to be leased again, or failed; fetches page after page."""
        return every(lambda size, token: self.shard_page(job_id, name, size, token, states=states))

    async def shard_page(
        self, job_id: str, name: str, size: int = 0, token: str = "", *, states: Sequence[ShardState] = ()
    ) -> Page[ShardStatus]:
        """One page of them: at most `size` (0: as many as the server likes) from the token on."""
        request = build(
            shard_pb2.ListShardsRequest,
            job_id=job_id,
            dataset=name,
            states=[SHARD_STATE.number(state) for state in states],
            page_size=size,
            page_token=token,
        )
        reply = await self._session.call(self._stub.ListShards, request)
        return Page([status_from_wire(shard) for shard in reply.shards], reply.next_page_token)

    async def reset(self, job_id: str, name: str, *, pass_number: int = 1, request_id: str = "") -> Dataset:
        """Lets a dataset begin anew at a pass, with all its shards; all leases are lost."""
        request = build(shard_pb2.ResetDatasetRequest, job_id=job_id, name=name, pass_number=pass_number)
        reply = await self._session.change(self._stub.ResetDataset, request, request_id)
        return dataset_from_wire(reply.dataset)

    async def lease(
        self, name: str, *, pass_number: int = 0, finished: ShardLease | None = None, request_id: str = ""
    ) -> LeaseOutcome:
        """The next shard, of this pass if one is given; or why there is none. Only with the token of a job.

        One that is done may be finished with the same call.
        """
        done = lease_to_wire(finished) if finished else None
        request = build(shard_pb2.LeaseShardRequest, dataset=name, pass_number=pass_number, finished=done)
        return outcome_from_wire(await self._session.change(self._stub.LeaseShard, request, request_id))

    async def finish(self, lease: ShardLease) -> bool:
        """Says that a shard is done. False if that changes nothing: somebody else leased it since, for example."""
        request = build(shard_pb2.FinishShardRequest, lease=lease_to_wire(lease))
        return (await self._session.change(self._stub.FinishShard, request, "")).counted

    async def give_back(self, lease: ShardLease, *, failed: bool = False, reason: str = "") -> bool:
        """Gives a shard back that is not done; if it failed, that counts. False as for `finish`."""
        request = build(shard_pb2.ReturnShardRequest, lease=lease_to_wire(lease), failed=failed, reason=reason)
        return (await self._session.change(self._stub.ReturnShard, request, "")).counted

    async def renew(self, leases: Sequence[ShardLease]) -> Sequence[ShardLease]:
        """Lets leases last anew; returns those that are still good."""
        request = build(shard_pb2.RenewLeasesRequest, leases=[lease_to_wire(lease) for lease in leases])
        reply = await self._session.change(self._stub.RenewLeases, request, "")
        return [lease_from_wire(lease) for lease in reply.held]
