# Written by tools/generate_sync.py from paddleflow/aio/runs.py; change it there.
"""Runs of pipelines: their nodes, and what happens in them."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Unpack

import grpc

from paddleflow.models.nodes import NodeExplanation, RunNode, RunNodeFilter, RunPlan
from paddleflow.models.pages import Page
from paddleflow.models.pipelines import DrawingForm, Source
from paddleflow.models.runs import Run, RunFilter, RunHappening, RunOptions
from paddleflow.models.watches import Bookmark, Change, ChangeKind, Reset, WatchItem
from paddleflow.pipeline.v1 import run_pb2, run_pb2_grpc
from paddleflow.problems import RunNotFound
from paddleflow.sync.pages import every
from paddleflow.sync.resuming import resuming
from paddleflow.sync.session import Session
from paddleflow.sync.watch import watch
from paddleflow.wire import nodes as node_wire
from paddleflow.wire.base import build
from paddleflow.wire.pipelines import DRAWING_FORM
from paddleflow.wire.runs import (
    create_request,
    happening_from_wire,
    list_request,
    run_changes_from_wire,
    run_from_wire,
)
from paddleflow.wire.values import values_to_wire


class Runs:
    """Executions of documents. A run belongs to who made it, in whose name its jobs run."""

    def __init__(self, session: Session, channel: grpc.Channel) -> None:
        self._session = session
        self._stub: run_pb2_grpc.RunServiceStub = run_pb2_grpc.RunServiceStub(channel)

    def create(self, source: Source, *, request_id: str = "", **options: Unpack[RunOptions]) -> Run:
        """Runs a document. All that is wrong with it is told at once, as DocumentInvalid."""
        reply = self._session.change(self._stub.CreateRun, create_request(source, options), request_id)
        return run_from_wire(reply.run)

    def plan(self, source: Source, **options: Unpack[RunOptions]) -> RunPlan:
        """What `create` would do, node by node, without doing it."""
        request = build(run_pb2.PlanRunRequest, run=create_request(source, options))
        return node_wire.plan_from_wire(self._session.call(self._stub.PlanRun, request))

    def get(self, id: str) -> Run:  # noqa: A002 -- the word of the contract
        reply = self._session.call(self._stub.GetRun, build(run_pb2.GetRunRequest, id=id))
        return run_from_wire(reply.run)

    def list(self, **chosen: Unpack[RunFilter]) -> Iterator[Run]:
        """The runs that the caller may see, newest first, without documents; fetches page after page."""
        return every(lambda size, token: self.page(size, token, **chosen))

    def page(self, size: int = 0, token: str = "", **chosen: Unpack[RunFilter]) -> Page[Run]:
        """One page of the list: at most `size` runs (0: as many as the server likes) from the token on."""
        reply = self._session.call(self._stub.ListRuns, list_request(chosen, size, token))
        return Page([run_from_wire(each) for each in reply.runs], reply.next_page_token)

    def stop(self, id: str, *, force: bool = False, request_id: str = "") -> Run:  # noqa: A002 -- as above
        """Ends what a run does; its post-process step and exit handlers still run, unless `force`."""
        request = build(run_pb2.StopRunRequest, id=id, force=force)
        reply = self._session.change(self._stub.StopRun, request, request_id)
        return run_from_wire(reply.run)

    def retry(
        self,
        id: str,  # noqa: A002 -- the word of the contract
        *,
        again: Sequence[str] = (),
        parameters: Mapping[str, object] | None = None,
        request_id: str = "",
    ) -> Run:
        """A new run that takes over what succeeded and does the rest again.

        `again` are paths of nodes that are done again although they succeeded, with all that depends on them;
        `parameters` hold for what is done again.
        """
        request = build(run_pb2.RetryRunRequest, id=id, parameters=values_to_wire("parameters", parameters or {}))
        # `from` is a word of Python.
        getattr(request, "from").extend(again)
        reply = self._session.change(self._stub.RetryRun, request, request_id)
        return run_from_wire(reply.run)

    def delete(self, id: str, *, keep_if_used: bool = False, request_id: str = "") -> None:  # noqa: A002 -- as above
        """Forgets a run that is over, and removes its artifacts; with `keep_if_used` not if others took results."""
        request = build(run_pb2.DeleteRunRequest, id=id, keep_if_used=keep_if_used)
        self._session.change(self._stub.DeleteRun, request, request_id)

    def nodes(self, id: str, **chosen: Unpack[RunNodeFilter]) -> Iterator[RunNode]:  # noqa: A002 -- as above
        """The nodes of a run that are known, in the order of the document; fetches page after page."""
        return every(lambda size, token: self.node_page(id, size, token, **chosen))

    def node_page(
        self,
        id: str,  # noqa: A002 -- the word of the contract
        size: int = 0,
        token: str = "",
        **chosen: Unpack[RunNodeFilter],
    ) -> Page[RunNode]:
        """One page of the nodes: at most `size` (0: as many as the server likes) from the token on."""
        reply = self._session.call(self._stub.ListNodes, node_wire.list_request(id, chosen, size, token))
        return Page([node_wire.node_from_wire(each) for each in reply.nodes], reply.next_page_token)

    def explain(self, id: str, path: str) -> NodeExplanation:  # noqa: A002 -- as above
        """Why a node stands where it stands."""
        request = build(run_pb2.ExplainNodeRequest, run_id=id, path=path)
        return node_wire.explanation_from_wire(self._session.call(self._stub.ExplainNode, request))

    def decide(
        self,
        id: str,  # noqa: A002 -- the word of the contract
        path: str,
        *,
        approve: bool,
        comment: str = "",
        request_id: str = "",
    ) -> RunNode:
        """Lets a node that waits for approval go on, or lets it fail."""
        request = build(run_pb2.DecideApprovalRequest, run_id=id, path=path, approve=approve, comment=comment)
        reply = self._session.change(self._stub.DecideApproval, request, request_id)
        return node_wire.node_from_wire(reply.node)

    def draw(self, id: str, form: DrawingForm = DrawingForm.SVG) -> str:  # noqa: A002 -- as above
        """The graph of a run with the states of its nodes, as SVG or Mermaid."""
        request = build(run_pb2.DrawRunRequest, run_id=id, form=DRAWING_FORM.number(form))
        reply = self._session.call(self._stub.DrawRun, request)
        return reply.drawing

    def happenings(
        self,
        id: str,  # noqa: A002 -- the word of the contract
        *,
        after: int = 0,
        follow: bool = False,
    ) -> Iterator[RunHappening]:
        """What happened in a run after the happening of this number; with `follow` until the run is over.

        When the stream breaks it goes on by itself, behind the last happening that was told.
        """
        request = build(run_pb2.WatchHappeningsRequest, run_id=id, after=after, follow=follow)

        def begin() -> Generator[run_pb2.WatchHappeningsResponse, None]:
            return self._session.stream(self._stub.WatchHappenings, request)

        with closing(resuming(self._session, begin)) as messages:
            for message in messages:
                for happening in message.happenings:
                    request.after = happening.number
                    yield happening_from_wire(happening)

    def watch(
        self,
        *,
        owner: str = "",
        id: str = "",  # noqa: A002 -- the word of the contract
        resume_token: str = "",
    ) -> Iterator[WatchItem[Run]]:
        """The runs that are not over, then what happens to all, for ever; resumes by itself when the stream breaks."""
        request = build(run_pb2.WatchRunsRequest, owner=owner, id=id, resume_token=resume_token)
        return watch(self._session, self._stub.WatchRuns, request, run_changes_from_wire)

    def follow(self, id: str) -> Iterator[Run]:  # noqa: A002 -- as above
        """The run as it is, then after each change, until it is over. Raises RunNotFound, also if it is deleted."""
        version, seen = -1, False
        for item in self.watch(id=id):
            match item:
                case Change(ChangeKind.DELETED, _):
                    raise RunNotFound(f"run {id!r} was deleted")
                case Change(_, run):
                    seen = True
                case Bookmark(_, caught_up=True) if not seen:
                    # A watch does not tell of runs that were over before.
                    run, seen = self.get(id), True
                case Reset():
                    seen = False
                    continue
                case _:
                    continue
            if run.version > version:
                version = run.version
                yield run
                if run.state.over:
                    return

    def wait(self, id: str) -> Run:  # noqa: A002 -- as above
        """The run, once it is over. Raises RunNotFound, also if it is deleted meanwhile."""
        for run in self.follow(id):
            if run.state.over:
                return run
        raise RunNotFound(f"no run {id!r}")
