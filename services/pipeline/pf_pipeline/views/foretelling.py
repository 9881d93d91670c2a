"""Whether results would come from the cache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from paddleflow.problems import Problem
from pf_pipeline.artifacts.judging import Hit, Judging, Miss, Unknown
from pf_pipeline.engine.core.happening import Judge, Judged, Verdict
from pf_pipeline.engine.questions import AFRESH, is_fresh, question_of
from pf_pipeline.plans.domain import Plan
from pf_pipeline.runs.domain import CacheTrace, Node, Run
from pf_pipeline.views.dry_words import is_known


class Prediction(StrEnum):
    """Whether a result would come from the cache."""

    NONE = ""
    """There is no result: it is no step, or would not run."""
    OFF = "off"
    HIT = "hit"
    MISS = "miss"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Foretold:
    """What the cache would say about a node."""

    prediction: Prediction
    message: str
    told: Judged


class Foretelling:
    """Asks the cache without wanting the work."""

    def __init__(self, judging: Judging) -> None:
        self._judging = judging

    async def foretell(self, run: Run, plan: Plan, wanted: Sequence[Judge]) -> Sequence[Foretold]:
        """What it would say of each step, in their order."""
        afresh = {each.node.path: _afresh(each.node) for each in wanted if is_fresh(run.order, each.node)}
        known = [each for each in wanted if depends_on(each.node) == "" and each.node.path not in afresh]
        questions = [question_of(run, plan, each) for each in known]
        try:
            answers = await self._judging.foresee(questions) if questions else []
        except Problem as problem:
            return [afresh.get(each.node.path) or _unknown(each.node, problem.message) for each in wanted]
        found = afresh | {each.node.path: _told(each.node, answer) for each, answer in zip(known, answers, strict=True)}
        return [found.get(each.node.path) or _unknown(each.node, depends_on(each.node)) for each in wanted]


def depends_on(node: Node) -> str:
    """Why nobody can tell yet what a step is; empty if that is known."""
    work = node.work
    for name, path in work.inputs.items():
        if "{{" in path:
            return f"the input {name} is not there yet"
    for name, value in {**work.env, **work.parameters}.items():
        if not is_known(value):
            return f"{name} is {value}, which is not known yet"
    return "" if is_known(work.loop_argument) else "nobody knows yet what it is repeated for"


def _told(node: Node, answer: Hit | Miss | Unknown) -> Foretold:
    match answer:
        case Hit(_, result):
            message = f"as in {result.made_by.run}, {result.made_by.node}"
            outputs = {name: output.path for name, output in result.outputs.items()}
            trace = CacheTrace(run=result.made_by.run, job=result.job, message=message)
            told = Judged(node.path, Verdict.HIT, trace, outputs, result.results)
            return Foretold(Prediction.HIT, message, told)
        case Miss():
            return Foretold(Prediction.MISS, "there is no result that fits", _missed(node))
        case Unknown(_, message):
            return _unknown(node, message)


def _afresh(node: Node) -> Foretold:
    return Foretold(Prediction.OFF, AFRESH, _missed(node))


def _unknown(node: Node, message: str) -> Foretold:
    return Foretold(Prediction.UNKNOWN, message, _missed(node))


def _missed(node: Node) -> Judged:
    return Judged(node.path, Verdict.MISS, CacheTrace())
