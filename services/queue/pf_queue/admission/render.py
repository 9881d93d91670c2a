"""Answers as messages."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Awaitable, Callable, Sequence

from paddleflow.queue.v1 import admission_pb2 as pb
from pf_kit.wire import timestamp
from pf_queue.admission.convert import (
    REASONS,
    decision_message,
    duration,
    key_message,
    refusal_message,
    workload_message,
)
from pf_queue.admission.core.explain import Explanation
from pf_queue.admission.domain import Key, Record, WorkloadState
from pf_queue.admission.loads import Load
from pf_queue.admission.positions import Position
from pf_queue.admission.service import Story
from pf_queue.admission.store import StoredDecision
from pf_queue.admission.times import moment
from pf_queue.admission.trial import Fate, Forecast
from pf_queue.admission.words import aside_words, held_words, words
from pf_queue.wire import resources_message


def position(found: Position) -> pb.GetPositionResponse:
    message = pb.GetPositionResponse(position=found.position, waiting=found.waiting)
    if found.estimate is not None:
        message.estimate.CopyFrom(duration(found.estimate))
    return message


def story(found: Story) -> pb.ExplainWorkloadResponse:
    standing = found.standing
    record = standing.record
    answer = pb.ExplainWorkloadResponse(
        workload=workload_message(record, standing.reason),
        decisions=[decision_message(stored.id, stored.decided) for stored in found.decisions],
    )
    if record.state is WorkloadState.HELD:
        answer.waiting.message = held_words(record)
    if record.state is WorkloadState.SET_ASIDE:
        answer.waiting.message = aside_words(record)
    if standing.explanation is not None:
        answer.waiting.CopyFrom(waiting(record, standing.explanation, found.position, found.leaving))
    return answer


def waiting(record: Record, why: Explanation, at: Position, leaving: Sequence[Key]) -> pb.Waiting:
    message = pb.Waiting(
        reason=REASONS[why.reason],
        message=words(record, why),
        queue=why.place,
        shortages=[
            pb.Shortage(resource=name, asked=shortage.asked, free=shortage.free)
            for name, shortage in sorted(why.short.items())
        ],
        leaving=map(key_message, leaving),
        position=position(at),
    )
    if why.behind:
        message.behind.CopyFrom(key_message(Key.parse(why.behind)))
    if record.kept_until:
        message.kept_until.CopyFrom(timestamp(moment(record.kept_until)))
    if record.not_before:
        message.not_before.CopyFrom(timestamp(moment(record.not_before)))
    return message


def forecast(found: Forecast) -> pb.SimulateResponse:
    return pb.SimulateResponse(
        decisions=[decision_message(0, decided) for decided in found.decided],
        workloads=[_fate(fate) for fate in found.fates],
        horizon=duration(found.horizon),
        cut_off=found.cut_off,
    )


def _fate(fate: Fate) -> pb.SimulatedWorkload:
    message = pb.SimulatedWorkload(key=key_message(fate.spec.key), admitted=fate.admitted)
    if fate.record is not None and fate.explanation is not None:
        message.waiting.CopyFrom(waiting(fate.record, fate.explanation, fate.position, fate.left))
    if fate.problem is not None:
        message.refusal.CopyFrom(refusal_message(fate.problem))
    return message


def load(found: Load) -> pb.QueueLoad:
    return pb.QueueLoad(
        queue=found.queue,
        used=resources_message(found.used),
        leaving=resources_message(found.leaving),
        kept=resources_message(found.kept),
        share=found.share,
        waiting=found.waiting,
        admitted=found.admitted,
        admissions=found.admissions,
        evictions=found.evictions,
    )


def decision(stored: StoredDecision) -> pb.DecisionRecord:
    return decision_message(stored.id, stored.decided)


def after(loads: Sequence[Load]) -> Callable[[str, int], Awaitable[Sequence[Load]]]:
    """The part of a list, sorted by queue, that comes after one of them."""

    async def fetch(queue: str, limit: int) -> Sequence[Load]:
        start = bisect_right(loads, queue, key=lambda each: each.queue)
        return loads[start : start + limit]

    return fetch
