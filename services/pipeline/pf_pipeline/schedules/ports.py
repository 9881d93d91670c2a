"""What schedules need of others."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from paddleflow.problems import Problem
from pf_kit.principal import Principal
from pf_kit.unit import Change, View
from pf_pipeline.schedules.domain import Schedule


@dataclass(frozen=True, slots=True)
class Wanted:
    """A run that is to be made for a tick."""

    schedule: Schedule
    time: datetime
    """The tick."""
    why: str = ""
    """Of a run that only tells that its tick was passed over: for what reason, for people."""


class RunMaker(Protocol):
    """Whoever makes runs. A run of a schedule is its owner's."""

    async def refusals(self, schedules: Sequence[Schedule]) -> Mapping[str, Problem]:
        """Why no run can be made of some of these schedules, by id: asked before each tick, outside of a change.

        Their owners may not use what they used before, or there are none of these users any more (UserNotFound, which
        ends a schedule). Raises Unavailable if that is not known.
        """

    async def make(self, change: Change, wanted: Sequence[Wanted]) -> Sequence[str]:
        """Makes runs that begin with the commit; returns their ids, in order. Raises a Problem if one cannot be."""

    async def pass_over(self, change: Change, wanted: Sequence[Wanted]) -> Sequence[str]:
        """Makes runs that were skipped, which is their state for ever; returns their ids, in order."""

    async def active(self, view: View, schedules: Collection[str]) -> Mapping[str, int]:
        """How many runs of schedules are under way, by id; those without one may be missing."""

    async def stop_oldest(self, change: Change, schedule: str, count: int) -> None:
        """Stops as many runs of a schedule that are under way, the oldest first."""

    async def failed(self, view: View, runs: Collection[str]) -> Collection[str]:
        """Which of these runs failed, were stopped or are forgotten."""


class PipelineBook(Protocol):
    """Whoever keeps pipelines."""

    async def version_of(self, view: View, caller: Principal, pipeline_id: str, version: int) -> int:
        """The version of a pipeline that the caller may see; 0 asks for the newest.

        Raises PipelineNotFound, or PipelineVersionNotFound.
        """
