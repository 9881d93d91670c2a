"""PipelineService over a socket, on a database in memory and a running filesystem service."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from grpc import aio
from prometheus_client import CollectorRegistry

from paddleflow.channel import open_channel_without_retries
from paddleflow.pipeline.v1 import pipeline_pb2, pipeline_pb2_grpc
from pf_kit.auth import TokenAuthenticator, TokenState
from pf_kit.clock import SystemClock
from pf_kit.forward import AlwaysLeading
from pf_kit.lifecycle import Stop, serve
from pf_kit.lists import Lists
from pf_kit.memory import MemoryDatabase
from pf_kit.mutation import Mutations
from pf_kit.page import PageTokens
from pf_kit.server import ServerSettings, Service, ServiceServer
from pf_kit.token_status import CachedTokenStatus
from pf_kit.tokens import Claims, Signer, Verifier, new_private_key
from pf_kit.tracing import Tracing
from pf_kit.unit import View
from pf_kit.watch import Watches
from pf_pipeline.drawings.plans import drawn
from pf_pipeline.exports.exporting import exported
from pf_pipeline.peers_grpc.documents import RemoteDocuments
from pf_pipeline.pipelines.convert import encode
from pf_pipeline.pipelines.judging import Judging
from pf_pipeline.pipelines.memory import MemoryPipelineStore
from pf_pipeline.pipelines.service import Pipelines
from pf_pipeline.pipelines.servicer import PipelineServicer
from pf_pipeline.pipelines.sources import Documents
from support.callers import Caller, methods_of
from support.fs_site import FsSite, Member
from support.owners import CALLERS

INSTALLATION = "test-installation"
SECRET = b"a secret of the installation"
METHODS = methods_of(pipeline_pb2.DESCRIPTOR.services_by_name.values())


class Everybody:
    """A token status by which every token of a user is good; the id of a token is its user's name."""

    async def check(self, token_id: str) -> TokenState | None:
        return TokenState(good=True, user=token_id, root=token_id == "root")


@dataclass
class Schedules:
    """Who uses pipelines, as a test says."""

    using: dict[tuple[str, int], Sequence[str]] = field(default_factory=dict)

    async def of(self, _view: View, pipeline_id: str, version: int) -> Sequence[str]:
        return self.using.get((pipeline_id, version), ())


@dataclass
class PipelineSite:
    """What a test works with."""

    fs: FsSite
    channel: aio.Channel
    signer: Signer
    database: MemoryDatabase
    schedules: Schedules

    def caller(self, user: str) -> Caller:
        now = int(time.time())
        token = self.signer.sign(Claims(INSTALLATION, f"user/{user}", user, now - 60, now + 3600))
        return Caller(self.channel, token, "", METHODS)

    async def member(self, word: str) -> tuple[Member, Caller]:
        """A new user with a filesystem `data`, and how it calls."""
        member = await self.fs.add_user(word)
        await self.fs.make(member)
        return member, self.caller(member.name)


@asynccontextmanager
async def opened_pipeline_site(fs: FsSite) -> AsyncIterator[PipelineSite]:
    """The service, as long as the block lasts."""
    signer, clock = Signer(new_private_key()), SystemClock()
    database, schedules = MemoryDatabase(encode=encode, clock=clock), Schedules()
    authenticator = TokenAuthenticator(
        Verifier({signer.key_id: signer.public_key}, issuer=INSTALLATION, clock=clock),
        CachedTokenStatus(Everybody(), clock),
        clock,
    )
    service = Service(
        name="pipeline",
        version="1.0",
        installation=INSTALLATION,
        database=database,
        authenticator=authenticator,
        watches=Watches(database, authenticator.recheck, clock, bookmark_seconds=5.0),
        page_tokens=PageTokens(SECRET),
        secret=SECRET,
        registry=CollectorRegistry(),
        tracing=Tracing(None, 0, random.random),
        leader=AlwaysLeading(),
    )
    server = ServiceServer(ServerSettings(listen=("127.0.0.1:0",)), service)
    server.add(pipeline_pb2_grpc.add_PipelineServiceServicer_to_server, _servicer(service, fs, schedules))
    stop = Stop()
    serving = asyncio.create_task(serve(server, {}, stop))
    while not server.addresses or not stop.serving:
        await asyncio.sleep(0.005)
        if serving.done():
            await serving
    async with open_channel_without_retries(server.addresses[0], None) as channel:
        yield PipelineSite(fs, channel, signer, database, schedules)
    stop.asked.set()
    await serving


def _servicer(service: Service, fs: FsSite, schedules: Schedules) -> PipelineServicer:
    store = MemoryPipelineStore()
    filesystems = RemoteDocuments(fs.channel, lambda: (("authorization", f"Bearer {fs.service}"),))
    documents = Documents(store=store, filesystems=filesystems)
    return PipelineServicer(
        database=service.database,
        callers=CALLERS,
        mutations=Mutations(service.database, service.secret),
        lists=Lists(tokens=service.page_tokens),
        pipelines=Pipelines(store=store, uses=schedules),
        judging=Judging(documents=documents, filesystems=filesystems),
        drawing=drawn,
        exporting=exported,
    )
