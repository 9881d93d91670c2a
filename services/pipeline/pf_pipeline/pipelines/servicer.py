"""PipelineService on the wire."""

from __future__ import annotations

import asyncio
from functools import partial

from paddleflow.pipeline.v1 import pipeline_pb2 as pb
from paddleflow.pipeline.v1 import pipeline_pb2_grpc
from pf_kit.lists import Lists
from pf_kit.mutation import Mutations
from pf_kit.unit import Change, Database
from pf_pipeline.owners import Callers, Owner
from pf_pipeline.pipelines.convert import (
    description_of,
    exported_message,
    filesystems_of,
    filter_of,
    form_of,
    owner_of,
    parameters_of,
    pipeline_message,
    problem_message,
    sendable_drawing,
    source_of,
    target_of,
    user_of,
    version_message,
)
from pf_pipeline.pipelines.judging import Judged, Judging
from pf_pipeline.pipelines.ports import Drawing, Exporting
from pf_pipeline.pipelines.service import Pipelines
from pf_pipeline.pipelines.store import name_lock, pipeline_lock


class PipelineServicer(pipeline_pb2_grpc.PipelineServiceServicer):
    """Keeps pipelines."""

    def __init__(
        self,
        *,
        database: Database,
        callers: Callers,
        mutations: Mutations,
        lists: Lists,
        pipelines: Pipelines,
        judging: Judging,
        drawing: Drawing,
        exporting: Exporting,
    ) -> None:
        self._database = database
        self._callers = callers
        self._mutations = mutations
        self._lists = lists
        self._pipelines = pipelines
        self._judging = judging
        self._drawing = drawing
        self._exporting = exporting

    async def CreatePipeline(self, request: pb.CreatePipelineRequest, _context: object) -> pb.CreatePipelineResponse:
        caller = await self._callers.current()
        owner = await self._callers.owner(caller, owner_of(caller, request.pipeline))
        description = description_of("pipeline.description", request.pipeline.description)
        judged = await self._judging.judge(self._database.newest, owner, source_of(request.source))
        name = judged.name if isinstance(judged, Judged) else ""

        async def work(change: Change) -> pb.CreatePipelineResponse:
            pipeline, version = await self._pipelines.create(change, caller, owner, description, judged)
            return pb.CreatePipelineResponse(
                pipeline=pipeline_message(pipeline), version=version_message(pipeline.id, version)
            )

        lock = name_lock(owner.name, name)
        return await self._mutations.run(
            request, pb.CreatePipelineResponse, locks=(lock,), subject=f"pipeline/{owner.name}/{name}", work=work
        )

    async def GetPipeline(self, request: pb.GetPipelineRequest, _context: object) -> pb.GetPipelineResponse:
        found = await self._pipelines.get(self._database.newest, await self._callers.current(), request.id)
        return pb.GetPipelineResponse(pipeline=pipeline_message(found))

    async def ListPipelines(self, request: pb.ListPipelinesRequest, _context: object) -> pb.ListPipelinesResponse:
        view, caller, chosen = self._database.newest, await self._callers.current(), filter_of(request)
        page = await self._lists.page(
            request,
            lambda before, limit: self._pipelines.page(view, caller, chosen, int(before or 0), limit),
            lambda pipeline: str(pipeline.number),
        )
        return pb.ListPipelinesResponse(pipelines=map(pipeline_message, page.things), next_page_token=page.next_token)

    async def UpdatePipeline(self, request: pb.UpdatePipelineRequest, _context: object) -> pb.UpdatePipelineResponse:
        caller, view = await self._callers.current(), self._database.newest
        description = request.description if request.HasField("description") else None
        description_of("description", description or "")
        judged = None
        if request.HasField("source"):
            source = source_of(request.source)
            owner = (await self._pipelines.get(view, caller, request.id)).whose
            judged = await self._judging.judge(view, owner, source)

        async def work(change: Change) -> pb.UpdatePipelineResponse:
            pipeline, version = await self._pipelines.update(
                change, caller, request.id, request.etag, description=description, judged=judged
            )
            return pb.UpdatePipelineResponse(
                pipeline=pipeline_message(pipeline), version=version_message(pipeline.id, version)
            )

        return await self._mutations.run(
            request,
            pb.UpdatePipelineResponse,
            locks=(pipeline_lock(request.id),),
            subject=f"pipeline/{request.id}",
            work=work,
        )

    async def DeletePipeline(self, request: pb.DeletePipelineRequest, _context: object) -> pb.DeletePipelineResponse:
        caller = await self._callers.current()

        async def work(change: Change) -> pb.DeletePipelineResponse:
            await self._pipelines.delete(change, caller, request.id, request.etag)
            return pb.DeletePipelineResponse()

        return await self._mutations.run(
            request,
            pb.DeletePipelineResponse,
            locks=(pipeline_lock(request.id),),
            subject=f"pipeline/{request.id}",
            work=work,
        )

    async def GetPipelineVersion(
        self, request: pb.GetPipelineVersionRequest, _context: object
    ) -> pb.GetPipelineVersionResponse:
        view, caller = self._database.newest, await self._callers.current()
        found = await self._pipelines.version(view, caller, request.pipeline_id, request.number)
        return pb.GetPipelineVersionResponse(version=version_message(request.pipeline_id, found))

    async def ListPipelineVersions(
        self, request: pb.ListPipelineVersionsRequest, _context: object
    ) -> pb.ListPipelineVersionsResponse:
        view, caller, id_ = self._database.newest, await self._callers.current(), request.pipeline_id
        filesystems = filesystems_of(request)
        page = await self._lists.page(
            request,
            lambda before, limit: self._pipelines.versions(view, caller, id_, filesystems, int(before or 0), limit),
            lambda version: str(version.number),
        )
        return pb.ListPipelineVersionsResponse(
            versions=(version_message(id_, version) for version in page.things), next_page_token=page.next_token
        )

    async def DeletePipelineVersion(
        self, request: pb.DeletePipelineVersionRequest, _context: object
    ) -> pb.DeletePipelineVersionResponse:
        caller, id_ = await self._callers.current(), request.pipeline_id

        async def work(change: Change) -> pb.DeletePipelineVersionResponse:
            await self._pipelines.delete_version(change, caller, id_, request.number)
            return pb.DeletePipelineVersionResponse()

        return await self._mutations.run(
            request,
            pb.DeletePipelineVersionResponse,
            locks=(pipeline_lock(id_),),
            subject=f"pipeline/{id_}/{request.number}",
            work=work,
        )

    async def ValidateDocument(
        self, request: pb.ValidateDocumentRequest, _context: object
    ) -> pb.ValidateDocumentResponse:
        view, user, source = (
            self._database.newest,
            await self._user(),
            source_of(request.source),
        )
        found = await self._judging.problems(view, user, source, pipeline_only=request.pipeline_only)
        return pb.ValidateDocumentResponse(problems=map(problem_message, found))

    async def DrawDocument(self, request: pb.DrawDocumentRequest, _context: object) -> pb.DrawDocumentResponse:
        view, user, form = self._database.newest, await self._user(), form_of(request.form)
        plan = await self._judging.plan(view, user, source_of(request.source), {})
        drawing = await asyncio.to_thread(self._drawing, plan, form)
        return pb.DrawDocumentResponse(drawing=sendable_drawing(drawing, form))

    async def ExportDocument(self, request: pb.ExportDocumentRequest, _context: object) -> pb.ExportDocumentResponse:
        view, user, target = (
            self._database.newest,
            await self._user(),
            target_of(request.target),
        )
        parameters = parameters_of(request.parameters)
        plan = await self._judging.plan(view, user, source_of(request.source), parameters)
        made = await asyncio.to_thread(partial(self._exporting, plan, target, strict=request.strict))
        return exported_message(made)

    async def _user(self) -> Owner:
        """The user in whose name a document is looked at."""
        caller = await self._callers.current()
        return await self._callers.owner(caller, user_of(caller, "source"))
