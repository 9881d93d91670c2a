"""Why the result of a step came from the cache, or not."""

from __future__ import annotations

from collections.abc import Sequence

from paddleflow.pipeline.v1 import run_pb2
from pf_pipeline.artifacts.domain import CachedResult, NodeKey
from pf_pipeline.artifacts.explanations import nearest
from pf_pipeline.documents.model import CacheShare
from pf_pipeline.engine.questions import AFRESH
from pf_pipeline.plans.domain import PlannedStep
from pf_pipeline.runs.domain import Node

_WHOSE = {
    CacheShare.SOURCE: "no earlier run of the same source (`cache.share`)",
    CacheShare.PIPELINE: "no earlier run of a pipeline of this name",
    CacheShare.OWNER: "no earlier run of the same owner",
}
MOST = 100
"""Differences that are told."""


def explained(node: Node, planned: PlannedStep, candidates: Sequence[CachedResult]) -> run_pb2.CacheExplanation | None:
    """What the cache said; None if it was not asked. Candidates are the newest results of the component."""
    trace = node.cache
    if not trace.key and not trace.message:
        return None
    told = run_pb2.CacheExplanation(hit=bool(trace.run), message=_message(node), key=trace.key)
    before = [result for result in candidates if _is_earlier(result, node)]
    # What is done afresh is compared with nothing.
    is_missed = bool(trace.key) and not trace.run and trace.message != AFRESH
    found = nearest(str(trace.parts.get("explanation", "{}")), before) if is_missed else None
    if found is not None:
        result, differences = found
        told.nearest = result.id
        told.differences.extend(
            run_pb2.CacheDifference(what=each.what, before=each.before, now=each.now) for each in differences[:MOST]
        )
        told.message += f"; most like it is {result.id} of {result.made_by.run}, {_amount(len(differences))}"
    elif is_missed:
        told.message += f"; {_WHOSE[planned.cache.share or CacheShare.SOURCE]} has a result of this step"
    return told


def _message(node: Node) -> str:
    trace = node.cache
    return f"its result came from the cache: {trace.message}" if trace.run else trace.message


def _amount(differences: int) -> str:
    if not differences:
        return "which is the same: its time is over, its artifacts are gone or others by now"
    return f"which differs in {differences} {'thing' if differences == 1 else 'things'}"


def _is_earlier(result: CachedResult, node: Node) -> bool:
    """True if a result was there when the node began."""
    own = result.made_by == NodeKey(node.run, node.path)
    return not own and (node.start_time is None or result.create_time <= node.start_time)
