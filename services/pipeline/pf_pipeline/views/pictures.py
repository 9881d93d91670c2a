"""Runs as pictures: their plans, and where each component stands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from pf_pipeline.drawings.graph import Box, Picture
from pf_pipeline.drawings.plans import marks
from pf_pipeline.engine.core.restoring import places_of
from pf_pipeline.plans.domain import Plan, Planned, PlannedDag
from pf_pipeline.runs.domain import Run, Standing
from pf_pipeline.runs.states import NODE_OVER, RUN_OVER, NodeState

LOUDEST = (
    NodeState.TERMINATING,
    NodeState.RUNNING,
    NodeState.FAILED,
    NodeState.TERMINATED,
    NodeState.CANCELLED,
    NodeState.PENDING,
    NodeState.SUCCEEDED,
    NodeState.SKIPPED,
)
"""Of several iterations the picture shows the state that comes first here."""


def picture_of(run: Run, plan: Plan, standings: Sequence[Standing], now: datetime) -> Picture:
    """What a run looks like at a moment."""
    by_place: dict[int, list[Standing]] = {}
    for standing in standings:
        by_place.setdefault(standing.place, []).append(standing)
    artist = _Artist(places_of(plan), by_place, now)
    is_open = run.life.state not in RUN_OVER
    lasts = [artist.box("post_process/", plan.post_process, is_open=is_open)] if plan.post_process else []
    lasts += [artist.box("on_exit/", each, is_open=is_open) for each in plan.on_exit]
    boxes = artist.boxes("", plan.entry_points, is_open=is_open)
    return Picture(title=run.order.title or plan.name, state=run.life.state, boxes=boxes, lasts=tuple(lasts))


@dataclass(frozen=True, slots=True)
class _Artist:
    places: Mapping[str, int]
    standings: Mapping[int, Sequence[Standing]]
    now: datetime

    def boxes(self, prefix: str, planned: Mapping[str, Planned], *, is_open: bool) -> tuple[Box, ...]:
        """The components of a DAG; is it open, those that have not begun may yet."""
        return tuple(self.box(prefix, each, is_open=is_open) for each in planned.values())

    def box(self, prefix: str, planned: Planned, *, is_open: bool) -> Box:
        path = f"{prefix}{planned.name}"
        found = self.standings.get(self.places[path], ())
        inside = is_open and (not found or any(each.state not in NODE_OVER for each in found))
        parts = self.boxes(f"{path}.", planned.children, is_open=inside) if isinstance(planned, PlannedDag) else ()
        return Box(
            name=planned.name,
            state=_state(found, is_open=is_open),
            marks=(*marks(planned), *_told(found)),
            seconds=self._seconds(found),
            after=planned.deps,
            parts=parts,
        )

    def _seconds(self, found: Sequence[Standing]) -> float | None:
        begun = [each.start_time for each in found if each.start_time]
        if not begun:
            return None
        is_over = all(each.state in NODE_OVER for each in found)
        ends = [each.finish_time for each in found if each.finish_time]
        return (max(ends) if is_over and ends else self.now).timestamp() - min(begun).timestamp()


def _state(found: Sequence[Standing], *, is_open: bool) -> str:
    states = {each.state for each in found}
    if not states:
        return NodeState.PENDING if is_open else ""
    return next(state for state in LOUDEST if state in states)


def _told(found: Sequence[Standing]) -> Iterator[str]:
    numbers = Counter({each.state: each.number for each in found})
    if numbers.total() > 1:
        yield ", ".join(f"{numbers[state]} {state}" for state in LOUDEST if numbers[state])
    cached = sum(each.cached for each in found)
    if cached:
        yield f"{cached} from the cache" if numbers.total() > 1 else "from the cache"
