"""What the small server of `fake_paddleflow` answers about datasets and their shards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from google.protobuf.duration_pb2 import Duration

from paddleflow.job.v1 import shard_pb2 as pb
from paddleflow.job.v1 import spec_pb2
from paddleflow.problems import DatasetNotFound, JobNotFound
from support.fake_services import BEGAN, World, page


@dataclass
class Shards:
    world: World

    def GetDataset(self, request: Any) -> Any:  # noqa: N802
        return pb.GetDatasetResponse(dataset=self._found(request.job_id, request.name))

    def ListDatasets(self, request: Any) -> Any:  # noqa: N802
        items, token = page(list(self._of(request.job_id).values()), request, lambda each: each.name)
        return pb.ListDatasetsResponse(datasets=items, next_page_token=token)

    def ListShards(self, request: Any) -> Any:  # noqa: N802
        self._found(request.job_id, request.dataset)
        chosen = [each for each in self.world.shards if not request.states or each.state in request.states]
        items, token = page(chosen, request, lambda each: f"{each.lease.number:09}")
        return pb.ListShardsResponse(shards=items, next_page_token=token)

    def ResetDataset(self, request: Any) -> Any:  # noqa: N802
        found = self._found(request.job_id, request.name)
        found.MergeFrom(pb.Dataset(pass_number=request.pass_number, todo=found.shards))
        for field in ("leased", "done", "failed"):
            found.ClearField(field)
        return pb.ResetDatasetResponse(dataset=found)

    def _found(self, job: str, name: str) -> pb.Dataset:
        datasets = self._of(job)
        if name not in datasets:
            raise DatasetNotFound(f"job {job!r} has no dataset {name!r}; open it first")
        return datasets[name]

    def _of(self, job: str) -> dict[str, pb.Dataset]:
        if job not in self.world.jobs:
            raise JobNotFound(f"no job {job!r}")
        return self.world.datasets.get(job, {})


def share_out(world: World) -> None:
    """Gives `trained` of `employ` a dataset that its workers are in the middle of."""
    dataset = pb.Dataset(name="numbers", total=100, size=10, passes=3, lease=Duration(seconds=60), retries=3)
    dataset.MergeFrom(pb.Dataset(shards=10, pass_number=2, todo=5, leased=1, done=3, failed=1, failed_in_all=1))
    dataset.MergeFrom(pb.Dataset(create_time=BEGAN, update_time=BEGAN))
    world.datasets["trained"] = {"numbers": dataset}
    world.shards = [
        _shard(2, pb.SHARD_STATE_LEASED),
        _shard(3, pb.SHARD_STATE_RETURNED, failures=1, reason="its lease ran out"),
        _shard(7, pb.SHARD_STATE_FAILED, failures=4, reason="torn"),
    ]


def _shard(number: int, state: pb.ShardState.ValueType, **more: Any) -> pb.ShardStatus:
    lease = pb.ShardLease(dataset="numbers", pass_number=2, number=number, epoch=20 + number)
    return pb.ShardStatus(
        lease=lease,
        state=state,
        attempt=1,
        role=spec_pb2.ROLE_WORKER,
        index=1,
        until=BEGAN,
        first=number * 10,
        count=10,
        **more,
    )
