"""What becomes of schedules that are due, and which runs are to be made for it: decided from values only."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from paddleflow.problems import Problem, UserNotFound
from pf_pipeline.schedules.domain import Policy, Schedule, ScheduleState, TickKey
from pf_pipeline.schedules.fields import CrontabError
from pf_pipeline.schedules.ports import Wanted
from pf_pipeline.schedules.ticks import Decision, Outcome, look
from pf_pipeline.schedules.zones import UnknownZone


@dataclass(frozen=True, slots=True)
class Judged:
    """A schedule that is due, and what becomes of it."""

    schedule: Schedule
    decision: Decision
    refusal: Problem | None = None
    """Why no run of it can be made."""
    time: datetime | None = None

    @property
    def keys(self) -> Sequence[TickKey]:
        """All ticks that something is to become of."""
        return [TickKey(self.schedule.id, ruling.time) for ruling in self.decision.rulings]

    @property
    def after(self) -> Schedule:
        """The schedule as it is then."""
        standing = self.decision.standing
        made = [ruling for ruling in self.decision.rulings if ruling.outcome is Outcome.RUN]
        if made and standing.state is ScheduleState.RUNNING:
            standing = replace(standing, message=_missing_run(made[-1].time, self.refusal))
        return replace(self.schedule, standing=standing)


def is_due(schedule: Schedule, now: datetime) -> bool:
    """Whether something may become of ticks of a schedule."""
    standing = schedule.standing
    if standing.state is not ScheduleState.RUNNING:
        return False
    return standing.blocked or (standing.wake_time is not None and standing.wake_time <= now)


def judge(
    schedule: Schedule, now: datetime, active: int, refusal: Problem | None, settled: Collection[TickKey] = ()
) -> Judged:
    """What becomes of a schedule; `settled` are ticks that became something already."""
    if isinstance(refusal, UserNotFound):
        return _ended(schedule, str(refusal), now)
    try:
        timetable = schedule.rule.timetable
    except (CrontabError, UnknownZone) as error:
        # It was right once: this machine knows other time zones than the one where it was made.
        return _ended(schedule, str(error), now)
    times = [key.time for key in settled if key.schedule == schedule.id]
    decision = look(schedule.rule, timetable, schedule.standing, now=now, active=active, settled=times)
    return Judged(schedule, replace(decision, stop=0) if refusal else decision, refusal, now)


def runs_wanted(judged: Judged) -> Iterator[Wanted]:
    """The runs that are to be made."""
    if judged.refusal is None:
        for ruling in judged.decision.rulings:
            if ruling.outcome is Outcome.RUN:
                yield Wanted(judged.schedule, ruling.time)


def passed_over(judged: Judged) -> Iterator[Wanted]:
    """The runs that are to tell of ticks that were passed over."""
    for ruling in judged.decision.rulings:
        if ruling.outcome is Outcome.SKIP:
            yield Wanted(judged.schedule, ruling.time, _reason(judged, ruling.time))
        elif ruling.outcome is Outcome.RUN and judged.refusal is not None:
            yield Wanted(judged.schedule, ruling.time, str(judged.refusal))


def _reason(judged: Judged, tick: datetime) -> str:
    rule = judged.schedule.rule
    if rule.expire and judged.time and tick + rule.expire < judged.time:
        return f"the tick expired: no run began within {rule.expire.total_seconds():g} s"
    if rule.policy is Policy.REPLACE:
        return "a newer tick came in its place"
    return f"{rule.concurrency} runs of the schedule were under way"


def _missing_run(tick: datetime, refusal: Problem | None) -> str:
    return f"the tick of {tick:%Y-%m-%d %H:%M:%S} UTC got no run: {refusal}" if refusal else ""


def _ended(schedule: Schedule, why: str, now: datetime) -> Judged:
    standing = replace(
        schedule.standing,
        state=ScheduleState.FAILED,
        message=why,
        next_time=None,
        wake_time=None,
        looked_time=now,
    )
    return Judged(schedule, Decision((), 0, standing))
