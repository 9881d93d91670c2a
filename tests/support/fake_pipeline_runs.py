"""What the small server of `fake_paddleflow` answers about runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp

from paddleflow.pipeline.v1 import run_pb2 as pb
from paddleflow.problems import NodeNotFound, RunInUse, RunNotFound, RunStateConflict
from support.fake_pipelines import check
from support.fake_services import BEGAN, World, page

OVER = (pb.RUN_STATE_SUCCEEDED, pb.RUN_STATE_FAILED, pb.RUN_STATE_TERMINATED, pb.RUN_STATE_SKIPPED)


@dataclass
class Runs:
    world: World

    def CreateRun(self, request: Any) -> Any:  # noqa: N802
        check(self.world)
        made = pb.Run(id=f"run-{len(self.world.runs) + 1:06}", name=request.name or "greeting", version=1)
        made.MergeFrom(pb.Run(state=pb.RUN_STATE_INITIATING, create_time=BEGAN, source=request.source))
        made.owner = request.owner or self.world.caller
        made.filesystem = request.source.filesystem
        self.world.runs[made.id] = made
        return pb.CreateRunResponse(run=made)

    def PlanRun(self, _: Any) -> Any:  # noqa: N802
        check(self.world)
        return self.world.planned

    def GetRun(self, request: Any) -> Any:  # noqa: N802
        return pb.GetRunResponse(run=self._found(request.id))

    def ListRuns(self, request: Any) -> Any:  # noqa: N802
        chosen = [
            each
            for _, each in sorted(self.world.runs.items())
            if (not request.states or each.state in request.states)
            and request.schedule_id in ("", each.schedule_id)
            and (not request.ids or each.id in request.ids)
        ]
        items, token = page(chosen, request, lambda each: each.id)
        return pb.ListRunsResponse(runs=items, next_page_token=token)

    def WatchRuns(self, _: Any) -> Any:  # noqa: N802
        raise NotImplementedError("streams are played")

    def StopRun(self, request: Any) -> Any:  # noqa: N802
        found = self._found(request.id)
        if found.state in OVER:
            raise RunStateConflict(f"run {found.id!r} is over")
        found.state = pb.RUN_STATE_TERMINATING
        return pb.StopRunResponse(run=found)

    def RetryRun(self, request: Any) -> Any:  # noqa: N802
        made = pb.Run(id=f"run-{len(self.world.runs) + 1:06}", retry_of=self._found(request.id).id)
        self.world.runs[made.id] = made
        return pb.RetryRunResponse(run=made)

    def DeleteRun(self, request: Any) -> Any:  # noqa: N802
        found = self._found(request.id)
        if found.used_by and request.keep_if_used:
            raise RunInUse(f"run {found.id!r} is used by {', '.join(found.used_by)}")
        del self.world.runs[found.id]
        return pb.DeleteRunResponse()

    def ListNodes(self, request: Any) -> Any:  # noqa: N802
        self._found(request.run_id)
        known = self.world.run_nodes.get(request.run_id, [])
        chosen = [
            each
            for each in known
            if each.path.startswith(request.below) and (not request.states or each.state in request.states)
        ]
        first, size = int(request.page_token or 0), request.page_size or 50
        token = str(first + size) if len(chosen) > first + size else ""
        return pb.ListNodesResponse(nodes=chosen[first : first + size], next_page_token=token)

    def WatchHappenings(self, _: Any) -> Any:  # noqa: N802
        raise NotImplementedError("streams are played")

    def ExplainNode(self, request: Any) -> Any:  # noqa: N802
        return self.world.node_explanations.get(request.path) or pb.ExplainNodeResponse(
            node=self._node(request), reasons=["it ran, and ended well"]
        )

    def DecideApproval(self, request: Any) -> Any:  # noqa: N802
        node = self._node(request)
        node.state = pb.NODE_STATE_SUCCEEDED if request.approve else pb.NODE_STATE_FAILED
        return pb.DecideApprovalResponse(node=node)

    def DrawRun(self, request: Any) -> Any:  # noqa: N802
        return pb.DrawRunResponse(drawing=f"a drawing of {self._found(request.run_id).id}")

    def _found(self, id_: str) -> pb.Run:
        if (found := self.world.runs.get(id_)) is None:
            raise RunNotFound(f"no run {id_!r}")
        return found

    def _node(self, request: Any) -> pb.Node:
        self._found(request.run_id)
        for node in self.world.run_nodes.get(request.run_id, []):
            if node.path == request.path:
                return node
        raise NodeNotFound(f"run {request.run_id!r} has no node {request.path!r}")


def train(world: World) -> None:
    """Adds `run-000001`, which prepares, trains twice in a DAG of which one iteration fails, and never reports."""
    run = pb.Run(id="run-000001", name="training", owner="alice", state=pb.RUN_STATE_FAILED, version=7)
    run.MergeFrom(pb.Run(message="node fit[1].train failed", origin="./run.yaml", filesystem="ppl"))
    run.MergeFrom(pb.Run(failure_strategy=pb.FAILURE_STRATEGY_FAIL_FAST, disabled=["report"], used_by=["run-000009"]))
    run.MergeFrom(pb.Run(create_time=BEGAN, start_time=at(1), finish_time=at(60), update_time=at(60)))
    run.MergeFrom(pb.Run(steps=pb.StepCounts(succeeded=2, failed=1, skipped=1, cached=1), docker_env="python:3.11"))
    run.parameters["epochs"].number_value = 5
    run.document = "name: training\nfs_options:\n  main_fs: {name: ppl, sub_path: work}\n  extra_fs: [{name: abc}]\n"
    world.runs[run.id] = run
    world.run_nodes[run.id] = [
        prepared(),
        _fit(0),
        _trained(0),
        _fit(1),
        _trained(1),
        _report(),
        _node("post_process/mail", pb.NODE_STATE_SUCCEEDED, kind=pb.NODE_KIND_POST_PROCESS, began=50, ended=60),
    ]


def at(seconds: int) -> Timestamp:
    return Timestamp(seconds=BEGAN.seconds + seconds)


def prepared() -> pb.Node:
    node = _node("prepare", pb.NODE_STATE_SUCCEEDED, began=1, ended=6)
    node.MergeFrom(pb.Node(job_id="job-1", job_name="run-000001-prepare", command="sh prepare.sh", attempt=1))
    node.MergeFrom(pb.Node(env={"A": "b"}, outputs={"data": ".pipeline/run-000001/data"}, docker_env="python:3.11"))
    node.parameters["epochs"].number_value = 5
    node.cache.MergeFrom(pb.CacheSettings(enable=True, max_expired_time=-1))
    node.cache.fs_scope.add(name="ppl", path="a,b")
    node.extra_fs.add(name="abc", mount_path="/abc", read_only=True)
    return node


def _fit(number: int) -> pb.Node:
    failed = number == 1
    state = pb.NODE_STATE_FAILED if failed else pb.NODE_STATE_SUCCEEDED
    node = _node("fit", state, number, kind=pb.NODE_KIND_DAG, began=6, ended=50, deps=["prepare"])
    node.iterations = 2
    node.loop_argument.string_value = "ab"[number]
    return node


def _trained(number: int) -> pb.Node:
    if number:
        node = _node("train", pb.NODE_STATE_FAILED, began=6, ended=40, parent=f"fit[{number}]")
        node.MergeFrom(pb.Node(job_id="job-3", attempt=2, message="exit status 3"))
    else:
        node = _node("train", pb.NODE_STATE_SUCCEEDED, began=6, ended=7, parent="fit")
        node.MergeFrom(pb.Node(cache_run_id="run-000000", cache_job_id="job-0"))
    return node


def _report() -> pb.Node:
    node = _node("report", pb.NODE_STATE_SKIPPED, deps=["fit"])
    node.message = "it is disabled"
    return node


def _node(
    path: str,
    state: pb.NodeState.ValueType,
    number: int = 0,
    *,
    kind: pb.NodeKind.ValueType = pb.NODE_KIND_STEP,
    began: int = 0,
    ended: int = 0,
    parent: str = "",
    deps: list[str] | None = None,
) -> pb.Node:
    name = path.rpartition("/")[2]
    whole = f"{parent}.{path}" if parent else path
    node = pb.Node(path=f"{whole}[{number}]" if number else whole, name=name, kind=kind, state=state, iteration=number)
    node.MergeFrom(pb.Node(parent=parent, deps=deps or []))
    if began:
        node.MergeFrom(pb.Node(start_time=at(began), finish_time=at(ended)))
    return node
