"""RunService on the wire."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from google.protobuf.message import Message

from paddleflow.pipeline.v1 import run_pb2, run_pb2_grpc
from paddleflow.problems import InvalidArgument, Violation
from pf_kit.lists import Lists
from pf_kit.mutation import Mutations
from pf_kit.principal import Principal
from pf_kit.unit import Change, Database
from pf_kit.watch import Watches
from pf_pipeline.owners import Callers
from pf_pipeline.runs.convert import (
    draft_of,
    happening_message,
    node_filter,
    node_message,
    parameters_of,
    run_filter,
    run_message,
)
from pf_pipeline.runs.following import Following
from pf_pipeline.runs.ports import Showing
from pf_pipeline.runs.retrying import Again, Retrying
from pf_pipeline.runs.service import Runs
from pf_pipeline.runs.store import BEGINNING, Place, RunStore, run_lock
from pf_pipeline.runs.taking import Taking, owner_of
from pf_pipeline.runs.watching import Teller

R = TypeVar("R", bound=Message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What the servicer works with."""

    database: Database
    callers: Callers
    mutations: Mutations
    lists: Lists
    watches: Watches
    store: RunStore
    runs: Runs
    taking: Taking
    retrying: Retrying
    showing: Showing
    following: Following


class RunServicer(run_pb2_grpc.RunServiceServicer):
    """Runs pipelines."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def CreateRun(self, request: run_pb2.CreateRunRequest, _context: object) -> run_pb2.CreateRunResponse:
        caller, draft, parts = await self._caller(), draft_of(request), self._parts
        owner = await parts.callers.owner(caller, owner_of(caller, draft.owner))
        order, _ = await parts.taking.order(owner, draft)

        async def work(change: Change) -> run_pb2.CreateRunResponse:
            run = await parts.runs.create(change, owner, order)
            return run_pb2.CreateRunResponse(run=_bare(run_message(run)))

        return await parts.mutations.run(
            request, run_pb2.CreateRunResponse, locks=(), subject=f"runs/{owner.name}", work=work
        )

    async def PlanRun(self, request: run_pb2.PlanRunRequest, _context: object) -> run_pb2.PlanRunResponse:
        caller, draft, parts = await self._caller(), draft_of(request.run), self._parts
        owner = await parts.callers.owner(caller, owner_of(caller, draft.owner))
        order, plan = await parts.taking.order(owner, draft)
        return await parts.showing.planned(owner, order, plan)

    async def GetRun(self, request: run_pb2.GetRunRequest, _context: object) -> run_pb2.GetRunResponse:
        view = self._parts.database.newest
        run = await self._parts.runs.get(view, await self._caller(), request.id)
        message = run_message(run)
        message.used_by.extend(await self._parts.runs.used_by(view, run))
        return run_pb2.GetRunResponse(run=message)

    async def ListRuns(self, request: run_pb2.ListRunsRequest, _context: object) -> run_pb2.ListRunsResponse:
        view, caller, chosen = self._parts.database.newest, await self._caller(), run_filter(request)
        page = await self._parts.lists.page(
            request,
            lambda after, limit: self._parts.runs.page(view, caller, chosen, int(after or 0), limit),
            lambda run: str(run.number),
        )
        return run_pb2.ListRunsResponse(
            runs=[_bare(run_message(run)) for run in page.things], next_page_token=page.next_token
        )

    async def WatchRuns(
        self, request: run_pb2.WatchRunsRequest, _context: object
    ) -> AsyncIterator[run_pb2.WatchRunsResponse]:
        if "\0" in f"{request.id}{request.owner}":
            raise InvalidArgument.of(Violation("id", "must not hold NUL"))
        teller = Teller(store=self._parts.store, caller=await self._caller(), request=request)
        watch = self._parts.watches.watch(request.resume_token, existing=teller.existing, changes=teller.changes)
        async for page in watch:
            yield run_pb2.WatchRunsResponse(
                events=page.messages, resume_token=page.resume_token, bookmark=page.bookmark
            )

    async def StopRun(self, request: run_pb2.StopRunRequest, _context: object) -> run_pb2.StopRunResponse:
        caller = await self._caller()

        async def work(change: Change) -> run_pb2.StopRunResponse:
            run = await self._parts.runs.stop(change, caller, request.id, force=request.force)
            return run_pb2.StopRunResponse(run=_bare(run_message(run)))

        return await self._change(request, run_pb2.StopRunResponse, request.id, work)

    async def RetryRun(self, request: run_pb2.RetryRunRequest, _context: object) -> run_pb2.RetryRunResponse:
        caller, parts = await self._caller(), self._parts
        run = await parts.runs.get(parts.database.newest, caller, request.id)
        again = Again(frozenset(getattr(request, "from")), parameters_of(request.parameters))
        draft = await parts.retrying.draft(parts.database.newest, run, again)

        async def work(change: Change) -> run_pb2.RetryRunResponse:
            made = await parts.retrying.create(change, run, draft)
            return run_pb2.RetryRunResponse(run=_bare(run_message(made)))

        return await self._change(request, run_pb2.RetryRunResponse, request.id, work)

    async def DeleteRun(self, request: run_pb2.DeleteRunRequest, _context: object) -> run_pb2.DeleteRunResponse:
        caller = await self._caller()

        async def work(change: Change) -> run_pb2.DeleteRunResponse:
            await self._parts.runs.delete(change, caller, request.id, keep_if_used=request.keep_if_used)
            return run_pb2.DeleteRunResponse()

        return await self._change(request, run_pb2.DeleteRunResponse, request.id, work)

    async def ListNodes(self, request: run_pb2.ListNodesRequest, _context: object) -> run_pb2.ListNodesResponse:
        view, caller, chosen = self._parts.database.newest, await self._caller(), node_filter(request)
        page = await self._parts.lists.page(
            request,
            lambda after, limit: self._parts.showing.nodes(view, caller, request.run_id, chosen, _place(after), limit),
            lambda each: f"{each.node.place}/{each.node.iteration}/{each.node.path}",
        )
        return run_pb2.ListNodesResponse(
            nodes=[node_message(each.node, each.planned) for each in page.things], next_page_token=page.next_token
        )

    async def WatchHappenings(
        self, request: run_pb2.WatchHappeningsRequest, _context: object
    ) -> AsyncIterator[run_pb2.WatchHappeningsResponse]:
        caller = await self._caller()
        told = self._parts.following.happenings(caller, request.run_id, request.after, follow=request.follow)
        async for found in told:
            yield run_pb2.WatchHappeningsResponse(happenings=map(happening_message, found))

    async def ExplainNode(self, request: run_pb2.ExplainNodeRequest, _context: object) -> run_pb2.ExplainNodeResponse:
        view, caller = self._parts.database.newest, await self._caller()
        return await self._parts.showing.explained(view, caller, request.run_id, request.path)

    async def DecideApproval(
        self, request: run_pb2.DecideApprovalRequest, _context: object
    ) -> run_pb2.DecideApprovalResponse:
        caller = await self._caller()

        async def work(change: Change) -> run_pb2.DecideApprovalResponse:
            node = await self._parts.runs.decide(
                change, caller, request.run_id, request.path, agreed=request.approve, comment=request.comment[:1000]
            )
            return run_pb2.DecideApprovalResponse(node=node_message(node))

        return await self._change(request, run_pb2.DecideApprovalResponse, request.run_id, work)

    async def DrawRun(self, request: run_pb2.DrawRunRequest, _context: object) -> run_pb2.DrawRunResponse:
        view, caller = self._parts.database.newest, await self._caller()
        return run_pb2.DrawRunResponse(drawing=await self._parts.showing.drawn(view, caller, request))

    async def _caller(self) -> Principal:
        return await self._parts.callers.current()

    async def _change(self, request: Message, reply: type[R], run: str, work: Callable[[Change], Awaitable[R]]) -> R:
        return await self._parts.mutations.run(request, reply, locks=(run_lock(run),), subject=f"run/{run}", work=work)


def _place(token: str) -> Place:
    """The place of a node, from the position of a page."""
    if not token:
        return BEGINNING
    place, iteration, path = token.split("/", 2)
    return int(place), int(iteration), path


def _bare(message: run_pb2.Run) -> run_pb2.Run:
    """Without its document, which is told by GetRun alone."""
    message.ClearField("document")
    return message
