"""A server small enough to know by heart: what it holds is in dicts, and tests tell it when and how to fail."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import grpc
from google.protobuf.message import Message

from paddleflow.auth.v1 import auth_pb2_grpc
from paddleflow.common.v1 import info_pb2_grpc
from paddleflow.fs.v1 import fs_pb2_grpc, link_pb2_grpc, mount_pb2_grpc
from paddleflow.job.v1 import job_pb2_grpc, log_pb2_grpc, shard_pb2_grpc, statistics_pb2_grpc
from paddleflow.pipeline.v1 import artifact_pb2_grpc, pipeline_pb2_grpc, run_pb2_grpc, schedule_pb2_grpc
from paddleflow.problems import Problem, TokenMissing, TokenRevoked
from paddleflow.queue.v1 import admission_pb2_grpc, cluster_pb2_grpc, queue_pb2_grpc
from paddleflow.status import DETAILS_KEY, encode, status_code, status_message
from support.fake_admission import Admission
from support.fake_artifacts import Artifacts
from support.fake_filesystems import Filesystems
from support.fake_jobs import Jobs, Logs
from support.fake_mounts import Links, Mounts
from support.fake_pipeline_runs import Runs
from support.fake_pipelines import Pipelines
from support.fake_schedules import Schedules
from support.fake_services import Audit, Auth, Clusters, Flavours, Grants, Info, Queues, Stream, Users, World
from support.fake_shards import Shards
from support.fake_statistics import Statistics

R = TypeVar("R")
STREAMS = ("Watch", "ExportTable", "ReadLog")
"""What methods begin with that tests play."""


@dataclass(frozen=True)
class _Status:
    """What grpc wants to abort a call with details."""

    code: grpc.StatusCode
    details: str
    trailing_metadata: tuple[tuple[str, str | bytes], ...]


class FakePaddleFlow:
    """Serves a world on a Unix socket."""

    def __init__(self) -> None:
        self.world = World()
        self._folder = Path(tempfile.mkdtemp(prefix="pf"))
        self.address = f"unix:{self._folder}/s"
        self._server: grpc.Server | None = None

    def start(self) -> None:
        self._server = grpc.server(ThreadPoolExecutor(16))
        stubs = (
            (auth_pb2_grpc.add_AuthServiceServicer_to_server, auth_pb2_grpc.AuthServiceServicer, Auth),
            (auth_pb2_grpc.add_UserServiceServicer_to_server, auth_pb2_grpc.UserServiceServicer, Users),
            (auth_pb2_grpc.add_GrantServiceServicer_to_server, auth_pb2_grpc.GrantServiceServicer, Grants),
            (queue_pb2_grpc.add_QueueServiceServicer_to_server, queue_pb2_grpc.QueueServiceServicer, Queues),
            (cluster_pb2_grpc.add_ClusterServiceServicer_to_server, cluster_pb2_grpc.ClusterServiceServicer, Clusters),
            (cluster_pb2_grpc.add_FlavourServiceServicer_to_server, cluster_pb2_grpc.FlavourServiceServicer, Flavours),
            (
                admission_pb2_grpc.add_AdmissionServiceServicer_to_server,
                admission_pb2_grpc.AdmissionServiceServicer,
                Admission,
            ),
            (
                fs_pb2_grpc.add_FilesystemServiceServicer_to_server,
                fs_pb2_grpc.FilesystemServiceServicer,
                Filesystems,
            ),
            (link_pb2_grpc.add_LinkServiceServicer_to_server, link_pb2_grpc.LinkServiceServicer, Links),
            (mount_pb2_grpc.add_MountServiceServicer_to_server, mount_pb2_grpc.MountServiceServicer, Mounts),
            (job_pb2_grpc.add_JobServiceServicer_to_server, job_pb2_grpc.JobServiceServicer, Jobs),
            (shard_pb2_grpc.add_ShardServiceServicer_to_server, shard_pb2_grpc.ShardServiceServicer, Shards),
            (
                statistics_pb2_grpc.add_StatisticsServiceServicer_to_server,
                statistics_pb2_grpc.StatisticsServiceServicer,
                Statistics,
            ),
            (log_pb2_grpc.add_LogServiceServicer_to_server, log_pb2_grpc.LogServiceServicer, Logs),
            *_of_pipelines(),
            (info_pb2_grpc.add_InfoServiceServicer_to_server, info_pb2_grpc.InfoServiceServicer, Info),
            (info_pb2_grpc.add_AuditServiceServicer_to_server, info_pb2_grpc.AuditServiceServicer, Audit),
        )
        for add, contract, plays in stubs:
            add(_servicer(contract, plays(self.world), self.world), self._server)
        self._server.add_insecure_port(self.address)
        self._server.start()

    def stop(self) -> None:
        self.world.silence.set()
        if self._server is not None:
            self._server.stop(None).wait()
        self._server = None
        self.world.silence.clear()

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self._folder)


def _of_pipelines() -> Iterator[tuple[Any, Any, Any]]:
    yield pipeline_pb2_grpc.add_PipelineServiceServicer_to_server, pipeline_pb2_grpc.PipelineServiceServicer, Pipelines
    yield run_pb2_grpc.add_RunServiceServicer_to_server, run_pb2_grpc.RunServiceServicer, Runs
    yield schedule_pb2_grpc.add_ScheduleServiceServicer_to_server, schedule_pb2_grpc.ScheduleServiceServicer, Schedules
    yield artifact_pb2_grpc.add_ArtifactServiceServicer_to_server, artifact_pb2_grpc.ArtifactServiceServicer, Artifacts


def _servicer(contract: type[Any], plays: Any, world: World) -> Any:
    """A servicer whose methods are those of `plays`, each behind the token and the failures that the world demands."""
    servicer = contract()
    for name in (name for name in dir(contract) if name[0].isupper()):
        if hasattr(plays, name):
            streams = name.startswith(STREAMS)
            setattr(servicer, name, (_stream if streams else _unary)(getattr(plays, name), name, world))
    return servicer


def _unary(method: Callable[[Any], R], name: str, world: World) -> Callable[[Any, Any], R]:
    def serve(request: Any, context: Any) -> R:
        world.requests.append(request)
        try:
            _admit(name, context, world)
            return method(request)
        except Problem as problem:
            _abort(context, problem)
            raise

    return serve


def _stream(method: Callable[[Any], Iterator[Message]], name: str, world: World) -> Callable[[Any, Any], Any]:
    def serve(request: Any, context: Any) -> Iterator[Message]:
        world.requests.append(request.__class__.FromString(request.SerializeToString()))
        try:
            _admit(name, context, world)
            played = world.streams.pop(0) if world.streams else Stream(silent=True)
            yield from played.messages
            if played.ends_with is not None:
                raise played.ends_with
            if played.silent:
                world.silence.wait(30)
        except Problem as problem:
            _abort(context, problem)

    return serve


def _admit(name: str, context: Any, world: World) -> None:
    if name not in ("Login", "GetInfo"):
        secret = dict(context.invocation_metadata()).get("authorization", "").removeprefix("Bearer ")
        if not secret:
            raise TokenMissing
        if secret not in world.good_tokens:
            raise TokenRevoked
    if world.slow:
        world.silence.wait(30)
    if name in world.failing:
        raise world.failing[name]
    if world.failures:
        raise world.failures.pop(0)


def _abort(context: Any, problem: Problem) -> None:
    context.abort_with_status(
        _Status(status_code(problem), status_message(problem), ((DETAILS_KEY, encode(problem, "paddleflow.fake")),))
    )
