"""What is asked about the use of resources, and what is told."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum

from pf_job.jobs.domain import NOBODY, Owner
from pf_job.jobs.spans import Span
from pf_job.runtimes.port import ReplicaKey
from pf_job.specs.domain import CPU, MEMORY
from pf_job.statistics.curves import SECOND, Curve, Metric


@dataclass(frozen=True, slots=True)
class Window:
    """A time, in microseconds of the epoch."""

    begin: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """How much was used of one thing."""

    known: Window
    """The time of which something is known: it may be a moment."""
    total: float
    """In units times seconds."""
    peak: float
    asked: float | None = None

    @property
    def average(self) -> float | None:
        """None if it was not seen often enough."""
        lasted = self.known.end - self.known.begin
        return self.total * SECOND / lasted if lasted > 0 else None


@dataclass(frozen=True, slots=True)
class Metered:
    """What one replica has used."""

    key: ReplicaKey
    summaries: Mapping[Metric, Summary]
    means: Mapping[Metric, Sequence[float | None]]
    """In each step of a grid."""
    notes: tuple[str, ...] = ()


def summary(curve: Curve, window: Window, asked: float | None) -> Summary | None:
    """None if nothing is known of this time."""
    begin, end = window.begin, window.end
    peak = curve.peak(begin, end)
    if peak is None:
        return None
    known = Window(*curve.known(begin, end))
    return Summary(known=known, total=curve.until(end) - curve.until(begin), peak=peak, asked=asked)


def together(metered: Sequence[Metered]) -> Mapping[Metric, Summary]:
    """What replicas have used together; their means are those of one grid."""
    by_metric: defaultdict[Metric, list[Metered]] = defaultdict(list)
    for each in metered:
        for metric in each.summaries:
            by_metric[metric].append(each)
    return {metric: _together(metric, found) for metric, found in sorted(by_metric.items())}


def _together(metric: Metric, metered: Sequence[Metered]) -> Summary:
    summaries = [each.summaries[metric] for each in metered]
    if len(summaries) == 1:
        return summaries[0]
    # Who is started again asks for nothing more: it has the place of the one before.
    places = {(each.key.role, each.key.index): each.summaries[metric].asked for each in metered}
    asked = [amount for amount in places.values() if amount is not None]
    sums = [sum(mean or 0.0 for mean in step) for step in zip(*(each.means[metric] for each in metered), strict=True)]
    return Summary(
        known=Window(min(each.known.begin for each in summaries), max(each.known.end for each in summaries)),
        total=sum(each.total for each in summaries),
        peak=max(*(each.peak for each in summaries), *sums),
        asked=sum(asked) if asked else None,
    )


class Group(IntEnum):
    """What is told together: each is finer than the one before."""

    QUEUE = 1
    USER = 2
    JOB = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class CardQuery:
    """What is asked about the time for which jobs held something."""

    group: Group
    start: datetime
    end: datetime
    queues: frozenset[str] | None = None
    """None is all."""
    users: frozenset[str] | None = None
    granted: frozenset[str] | None = None
    """The queues whose jobs the viewer may see, beside its own; None for whoever may see all."""
    viewer: Owner = NOBODY


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Whose time it is; what is told together has empty names."""

    queue: str = ""
    user: str = ""
    job: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CardTime:
    """What the jobs of one group held, and for how long."""

    place: Place
    jobs: int
    running: int
    """How many of them hold something still."""
    seconds: float
    """Of all these jobs together."""
    cards: Mapping[str, float] = field(default_factory=dict)
    """Pieces times seconds of whatever is neither processor nor memory."""
    cores: float
    """Times seconds."""
    memory: float
    """Bytes times seconds."""
    most_cards: int
    """That one job held at one time."""
    accept_time: datetime
    start_time: datetime
    """When the first of them began to run."""
    finish_time: datetime | None
    """None if one of them runs."""


def card_times(spans: Iterable[Span], query: CardQuery) -> Sequence[CardTime]:
    """For how long jobs held what, by place."""
    groups: defaultdict[Place, list[Span]] = defaultdict(list)
    for span in spans:
        if _is_meant(span, query):
            groups[_place(span, query.group)].append(span)
    return [_card_time(place, groups[place], query) for place in sorted(groups)]


def _is_meant(span: Span, query: CardQuery) -> bool:
    return (
        query.start < query.end
        and span.start_time < query.end
        and (span.finish_time is None or span.finish_time > query.start)
        and (query.queues is None or span.queue in query.queues)
        and (query.users is None or span.owner in query.users)
        and _is_seen(span, query)
    )


def _is_seen(span: Span, query: CardQuery) -> bool:
    if query.granted is None:
        return True
    if span.owner == query.viewer.name:
        return Owner(span.owner, span.owner_since).is_of(query.viewer)
    return span.queue in query.granted


def _place(span: Span, group: Group) -> Place:
    return Place(span.queue, span.owner if group >= Group.USER else "", span.job if group is Group.JOB else "")


def _card_time(place: Place, spans: Sequence[Span], query: CardQuery) -> CardTime:
    held: defaultdict[str, float] = defaultdict(float)
    seconds = 0.0
    for span in spans:
        lasted = _seconds(span, query)
        seconds += lasted
        for resource, amount in span.held.items():
            held[resource] += amount * lasted
    running = {span.job for span in spans if span.finish_time is None}
    return CardTime(
        place=place,
        jobs=len({span.job for span in spans}),
        running=len(running),
        seconds=seconds,
        cards={name: amount for name, amount in held.items() if name not in (CPU, MEMORY)},
        cores=held[CPU] / 1_000,
        memory=held[MEMORY],
        most_cards=max(_cards(span) for span in spans),
        accept_time=min(span.accept_time for span in spans),
        start_time=min(span.start_time for span in spans),
        finish_time=None if running else max(span.finish_time for span in spans if span.finish_time),
    )


def _seconds(span: Span, query: CardQuery) -> float:
    """How long a span lasts within the time that is asked about."""
    end = min(span.finish_time or query.end, query.end)
    return (end - max(span.start_time, query.start)).total_seconds()


def _cards(span: Span) -> int:
    return sum(amount for name, amount in span.held.items() if name not in (CPU, MEMORY))
