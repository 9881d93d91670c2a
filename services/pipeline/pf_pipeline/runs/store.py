"""Where runs are kept."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from pf_kit.unit import Change, View
from pf_pipeline.owners import Owner
from pf_pipeline.runs.domain import Happening, Leaving, Loop, Node, NodeFilter, Progress, Run, RunFilter, Standing, Wish

Place = tuple[int, int, str]
"""Where a node stands in a list of nodes: its place in the document, its iteration, its path."""
BEGINNING: Place = (-1, -1, "")


def run_lock(id_: str) -> str:
    """Held by every change of a run, so that the order of its events is the order of commits."""
    return f"run/{id_}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What becomes of one run in one commit."""

    run: Run
    """As it is after that."""
    nodes: Sequence[Node] = ()
    """Those that are new or have changed."""
    loops: Sequence[Loop] = ()
    happenings: Sequence[Happening] = ()
    heard: Collection[int] = field(default_factory=tuple)
    """Numbers of the wishes that have been taken in."""


class RunStore(Protocol):
    """The port to the rows of runs. Whoever writes holds the lock of the run."""

    async def new_id(self, change: Change) -> str:
        """An id that no run ever had."""

    async def add(self, change: Change, run: Run) -> Run:
        """Keeps a new run; returns it with its version and number."""

    async def new_ids(self, change: Change, count: int) -> Sequence[str]:
        """Ids that no run ever had."""

    async def add_all(self, change: Change, runs: Sequence[Run]) -> Sequence[Run]:
        """Keeps new runs at once; returns them with their versions and numbers."""

    async def runs(self, view: View, ids: Collection[str]) -> Sequence[Run]:
        """The runs of these ids that there are, in no order."""

    async def page(self, view: View, chosen: RunFilter, before: int, limit: int) -> Sequence[Run]:
        """The runs with numbers below one, newest first, without documents; 0 means from the newest on."""

    async def unfinished(self, view: View) -> Sequence[str]:
        """Ids of the runs that are not over, oldest first."""

    async def save(self, change: Change, turns: Sequence[Turn]) -> Sequence[Run]:
        """Keeps what became of runs that there are; returns them with new versions."""

    async def nodes(self, view: View, run: str, chosen: NodeFilter, after: Place, limit: int) -> Sequence[Node]:
        """Nodes of a run that come after a place, in their order."""

    async def node(self, view: View, run: str, path: str) -> Node | None:
        """The node of a path."""

    async def loops(self, view: View, run: str) -> Mapping[str, Loop]:
        """What components of a run are repeated for, by path."""

    async def running(self, view: View, run: str, places: Collection[int]) -> Sequence[Node]:
        """Nodes at places that run, in their order."""

    async def progress(self, view: View, run: str, components: Mapping[str, int]) -> Mapping[str, Progress]:
        """How far components are, by the paths of their first iterations; given with their places."""

    async def standings(self, view: View, run: str) -> Sequence[Standing]:
        """How many nodes of a run stand where, by place and state."""

    async def happenings(self, view: View, run: str, after: int, limit: int) -> Sequence[Happening]:
        """What happened in a run after the happening of a number, oldest first."""

    async def wish(self, change: Change, wish: Wish) -> None:
        """Keeps what somebody wants."""

    async def wish_all(self, change: Change, wishes: Sequence[Wish]) -> None:
        """Keeps what is wanted of many runs."""

    async def wishes(self, view: View, after: int, limit: int) -> Sequence[Wish]:
        """What is wanted, oldest first, with numbers above one."""

    async def forget_wishes(self, change: Change, numbers: Collection[int]) -> None:
        """Forgets wishes that nobody can fulfil any more."""

    async def active_of(self, view: View, schedule: str) -> Sequence[str]:
        """Ids of the runs of a schedule that are not over, oldest first."""

    async def active_counts(self, view: View, schedules: Collection[str]) -> Mapping[str, int]:
        """How many runs of schedules are not over, by schedule; none have no entry."""

    async def expired(self, view: View, until: datetime, limit: int) -> Sequence[Run]:
        """Runs that were over at a time, oldest first."""

    async def owners(self, view: View) -> Sequence[Owner]:
        """The users who own runs."""

    async def owned(self, view: View, owner: Owner, after: str, limit: int) -> Sequence[Run]:
        """The runs of a user with ids after one, by id, without documents."""

    async def retries_of(self, view: View, id_: str) -> Sequence[str]:
        """Ids of the runs that try a run again, and have taken over what it did."""

    async def remove(self, change: Change, ids: Collection[str]) -> None:
        """Forgets runs with all that belongs to them."""

    async def leave(self, change: Change, leavings: Sequence[Leaving]) -> None:
        """Keeps what is to be removed of runs that are forgotten."""

    async def leavings(self, view: View, after: str, limit: int) -> Sequence[Leaving]:
        """What is still to be removed of runs with ids after one, by id."""

    async def clear(self, change: Change, runs: Collection[str]) -> None:
        """Notes that it is removed."""
