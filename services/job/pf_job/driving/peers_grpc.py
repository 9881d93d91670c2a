"""The queue service, as the driving of jobs needs it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from google.protobuf.message import Message
from grpc import aio

from paddleflow.problems import Code, GrantMismatch, InvalidArgument, NotFound, Unavailable, WorkloadStateConflict
from paddleflow.queue.v1 import admission_pb2, admission_pb2_grpc, cluster_pb2, cluster_pb2_grpc, workload_pb2
from paddleflow.status import problem_of
from pf_job.driving.convert import (
    grant_of,
    key_message,
    node_message,
    refusal_of,
    refused,
    release_message,
    resize_message,
    standing_of,
    workload_message,
)
from pf_job.driving.ports import AttemptKey, GivenBack, Left, Standing, Submitted, Wish
from pf_job.jobs.life import Ending, Grant
from pf_job.runtimes.port import Machine
from pf_kit.clock import Clock

if TYPE_CHECKING:
    from paddleflow.queue.v1.admission_pb2_grpc import AdmissionServiceAsyncStub
    from paddleflow.queue.v1.cluster_pb2_grpc import ClusterServiceAsyncStub

ANSWER_SECONDS = 10.0
"""How long the queue service may take: a batch waits for one commit of its leader."""
MOST = 1000
"""Of one call."""
MICROSECONDS = 1_000_000
"""Of a second."""
Q = TypeVar("Q", bound=Message)
A = TypeVar("A", bound=Message)


class RemoteAdmission:
    """Fulfils `Admission` by AdmissionService."""

    def __init__(self, channel: aio.Channel, metadata: Callable[[], Sequence[tuple[str, str]]], clock: Clock) -> None:
        """The metadata hold the token of this service."""
        self._stub: AdmissionServiceAsyncStub = admission_pb2_grpc.AdmissionServiceStub(channel)
        self._clusters: ClusterServiceAsyncStub = cluster_pb2_grpc.ClusterServiceStub(channel)
        self._metadata = metadata
        self._clock = clock

    async def submit(self, wishes: Sequence[Wish]) -> Submitted:
        found = Submitted()
        for begin in range(0, len(wishes), MOST):
            found = _both(found, await self._submit(wishes[begin : begin + MOST]))
        return found

    async def revise(self, wishes: Sequence[Wish]) -> None:
        # At once, so that they share a commit there.
        await asyncio.gather(*map(self._revise, wishes))

    async def release(self, given: Sequence[GivenBack]) -> Mapping[AttemptKey, Grant | None]:
        found: dict[AttemptKey, Grant | None] = {}
        for begin in range(0, len(given), MOST):
            found.update(await self._release(given[begin : begin + MOST]))
        return found

    async def resize(self, left: Sequence[Left]) -> Mapping[AttemptKey, Grant]:
        # At once, so that they share a commit there.
        held = await asyncio.gather(*map(self._resize, left))
        return {each.key: grant for each, grant in zip(left, held, strict=True) if grant is not None}

    async def report_running(self, running: Mapping[AttemptKey, str]) -> None:
        reports = [admission_pb2.RunningReport(key=key_message(key), grant_id=grant) for key, grant in running.items()]
        for begin in range(0, len(reports), MOST):
            request = admission_pb2.ReportRunningRequest(reports=reports[begin : begin + MOST])
            await self._call(self._stub.ReportRunning, request)

    async def report_machines(self, cluster: str, machines: Sequence[Machine]) -> None:
        # The time grows from report to report, whoever makes it.
        revision = round(self._clock.now().timestamp() * MICROSECONDS)
        request = cluster_pb2.ReportNodesRequest(cluster=cluster, revision=revision, nodes=map(node_message, machines))
        await self._call(self._clusters.ReportNodes, request)

    async def standings(self) -> Sequence[Standing]:
        found: list[Standing] = []
        watch = self._stub.WatchWorkloads(
            admission_pb2.WatchWorkloadsRequest(), metadata=self._metadata(), timeout=ANSWER_SECONDS
        )
        try:
            async for page in watch:
                found += [standing for event in page.events if (standing := standing_of(event))]
                if page.bookmark:
                    return found
        except aio.AioRpcError as error:
            raise problem_of(error) from None
        finally:
            watch.cancel()
        raise Unavailable("the queue service ended its answer too soon; it is asked again")

    async def _submit(self, wishes: Sequence[Wish]) -> Submitted:
        request = admission_pb2.SubmitWorkloadsRequest(workloads=map(workload_message, wishes))
        try:
            reply = await self._call(self._stub.SubmitWorkloads, request)
        except InvalidArgument as problem:
            return await self._halves(wishes, problem)
        found = [(wish.key, result) for wish, result in zip(wishes, reply.results, strict=True)]
        revisions = {wish.key: wish.revision for wish in wishes}
        return Submitted(
            {key: why for key, result in found if (why := refusal_of(result)) is not None},
            {key: grant_of(result.workload.admitted) for key, result in found if _is_admitted(result)},
            {key: result.workload.revision for key, result in found if result.workload.revision < revisions[key]},
        )

    async def _halves(self, wishes: Sequence[Wish], problem: InvalidArgument) -> Submitted:
        """One that is malformed spoils the whole call: it is found, so that the others are not held up by it."""
        if len(wishes) == 1:
            return Submitted(refused={wishes[0].key: problem})
        middle = len(wishes) // 2
        return _both(await self._submit(wishes[:middle]), await self._submit(wishes[middle:]))

    async def _revise(self, wish: Wish) -> None:
        request = admission_pb2.UpdateWorkloadRequest(
            key=key_message(wish.key), priority=wish.priority, revision=wish.revision
        )
        # Whoever does not wait any more is told of as an event.
        with suppress(NotFound, WorkloadStateConflict):
            await self._call(self._stub.UpdateWorkload, request)

    async def _release(self, given: Sequence[GivenBack]) -> Mapping[AttemptKey, Grant | None]:
        request = admission_pb2.ReleaseWorkloadsRequest(releases=map(release_message, given))
        reply = await self._call(self._stub.ReleaseWorkloads, request)
        found: dict[AttemptKey, Grant | None] = {}
        for each, result in zip(given, reply.results, strict=True):
            if result.HasField("refusal"):
                found.update(await self._unreleased(each, result.refusal))
        return found

    async def _unreleased(self, given: GivenBack, refusal: admission_pb2.Refusal) -> Mapping[AttemptKey, Grant | None]:
        """What to tell of an attempt that was not released as it was to be."""
        if refusal.reason == GrantMismatch.reason:
            grant = await self._held(given.key)
            return {given.key: grant} if grant else {}
        if refusal.code == Code.NOT_FOUND:
            return {given.key: None} if given.ending is Ending.EVICTED else {}
        if given.ending is Ending.EVICTED:
            # The queue has forgotten that it pushed it out, as one does that was restored from a back-up.
            return {given.key: None, **await self._release([replace(given, ending=Ending.STOPPED)])}
        raise refused(refusal)

    async def _resize(self, left: Left) -> Grant | None:
        try:
            reply = await self._call(self._stub.ResizeWorkload, resize_message(left))
        except (NotFound, GrantMismatch):
            return None
        except WorkloadStateConflict:
            # Whoever holds less than that has given it back before.
            return await self._held(left.key)
        return grant_of(reply.workload.admitted)

    async def _held(self, key: AttemptKey) -> Grant | None:
        request = admission_pb2.GetWorkloadRequest(key=key_message(key))
        reply = await self._call(self._stub.GetWorkload, request)
        return grant_of(reply.workload.admitted) if reply.workload.HasField("admitted") else None

    async def _call(self, method: Callable[..., Awaitable[A]], request: Q) -> A:
        try:
            return await method(request, metadata=self._metadata(), timeout=ANSWER_SECONDS)
        except aio.AioRpcError as error:
            raise problem_of(error) from None


def _both(one: Submitted, other: Submitted) -> Submitted:
    return Submitted({**one.refused, **other.refused}, {**one.admitted, **other.admitted}, {**one.older, **other.older})


def _is_admitted(result: admission_pb2.WorkloadResult) -> bool:
    return result.workload.state == workload_pb2.WORKLOAD_STATE_ADMITTED
