"""Nodes of runs, and what is said of them, from the wire."""

from __future__ import annotations

from paddleflow.models.nodes import (
    CacheDifference,
    CacheExplanation,
    CachePrediction,
    CacheScope,
    CacheSettings,
    ExtraFilesystem,
    NodeExplanation,
    NodeKind,
    NodeState,
    NodeWaiting,
    PlannedNode,
    RunNode,
    RunNodeFilter,
    RunPlan,
)
from paddleflow.pipeline.v1 import run_pb2
from paddleflow.structs import plain_value
from paddleflow.wire.base import EnumCodec, build, time_from_wire
from paddleflow.wire.values import values_from_wire

STATE = EnumCodec(NodeState, run_pb2.NodeState, "NODE_STATE_")
KIND = EnumCodec(NodeKind, run_pb2.NodeKind, "NODE_KIND_")
WAITING = EnumCodec(NodeWaiting, run_pb2.Waiting, "WAITING_")
PREDICTION = EnumCodec(CachePrediction, run_pb2.CachePrediction, "CACHE_PREDICTION_")


def node_from_wire(node: run_pb2.Node) -> RunNode:
    return RunNode(
        path=node.path,
        name=node.name,
        reference=node.reference,
        kind=KIND.member(node.kind),
        parent=node.parent,
        iteration=node.iteration,
        iterations=node.iterations,
        loop_argument=plain_value(node.loop_argument) if node.HasField("loop_argument") else None,
        deps=tuple(node.deps),
        state=STATE.member(node.state),
        message=node.message,
        waiting=WAITING.member(node.waiting),
        waiting_on=tuple(node.waiting_on),
        attempt=node.attempt,
        job_id=node.job_id,
        job_name=node.job_name,
        command=node.command,
        parameters=values_from_wire(node.parameters),
        env=dict(sorted(node.env.items())),
        docker_env=node.docker_env,
        inputs=dict(sorted(node.inputs.items())),
        outputs=dict(sorted(node.outputs.items())),
        results=values_from_wire(node.results),
        cache=_cache_from_wire(node.cache) if node.HasField("cache") else CacheSettings(),
        cache_run_id=node.cache_run_id,
        cache_job_id=node.cache_job_id,
        extra_fs=tuple(
            ExtraFilesystem(each.name, each.mount_path, each.sub_path, each.read_only) for each in node.extra_fs
        ),
        start_time=time_from_wire(node, "start_time"),
        finish_time=time_from_wire(node, "finish_time"),
        not_before=time_from_wire(node, "not_before"),
        condition=node.condition,
    )


def list_request(run_id: str, chosen: RunNodeFilter, size: int, token: str) -> run_pb2.ListNodesRequest:
    return build(
        run_pb2.ListNodesRequest,
        run_id=run_id,
        below=chosen.get("below", ""),
        states=[STATE.number(state) for state in chosen.get("states", ())],
        page_size=size,
        page_token=token,
    )


def explanation_from_wire(reply: run_pb2.ExplainNodeResponse) -> NodeExplanation:
    cache = _told_of_cache(reply.cache) if reply.HasField("cache") else None
    return NodeExplanation(node_from_wire(reply.node), tuple(reply.reasons), cache)


def plan_from_wire(reply: run_pb2.PlanRunResponse) -> RunPlan:
    nodes = (
        PlannedNode(node_from_wire(each.node), PREDICTION.member(each.prediction), each.message) for each in reply.nodes
    )
    return RunPlan(reply.document, tuple(nodes), reply.left_out)


def _cache_from_wire(cache: run_pb2.CacheSettings) -> CacheSettings:
    scopes = tuple(CacheScope(each.name, each.path) for each in cache.fs_scope)
    return CacheSettings(cache.enable, cache.max_expired_time, scopes)


def _told_of_cache(cache: run_pb2.CacheExplanation) -> CacheExplanation:
    return CacheExplanation(
        hit=cache.hit,
        message=cache.message,
        key=cache.key,
        nearest=cache.nearest,
        differences=tuple(CacheDifference(each.what, each.before, each.now) for each in cache.differences),
    )
