"""A run under way, as whoever drives it has it in memory. It can be thrown away at any time, and made anew of rows."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from pf_pipeline.documents.model import Value
from pf_pipeline.engine.core.happening import Effect
from pf_pipeline.engine.core.words import Words
from pf_pipeline.plans.domain import Kind, Plan, Planned, PlannedDag, PlannedStep
from pf_pipeline.runs.domain import Happening, Loop, Node, Run
from pf_pipeline.runs.states import NodeState


class Phase(StrEnum):
    """Which part of its plan a run is at."""

    MAIN = "main"
    POST = "post_process"
    EXIT = "on_exit"
    OVER = "over"


class Stage(StrEnum):
    """What an iteration of a step waits for."""

    CONDITION = "condition"
    """Files that its condition is about."""
    APPROVAL = "approval"
    TURN = "turn"
    """A slot, and semaphores."""
    CACHE = "cache"
    """What the cache says."""
    JOB = "job"
    """Its job."""
    RESULTS = "results"
    """Its small results."""
    BACKOFF = "backoff"
    """The time of its next try."""
    STOPPING = "stopping"
    """The end of its job, which was stopped."""
    INSIDE = "inside"
    """Of a DAG: its children."""


@dataclass(slots=True, eq=False)
class Frame:
    """The components of one iteration of a DAG, or of a phase of the run."""

    prefix: str
    """What the paths of its components begin with: empty, or ends with `.` or `/`."""
    runtime_name: str
    """What their names in the paths of artifacts begin with; ends with `.`."""
    kind: Kind
    """What its steps are."""
    live: Live | None = None
    """The iteration that it is; None at the top."""
    members: dict[str, Member] = field(default_factory=dict)
    open: int = 0
    """Components that are not over."""

    @property
    def path(self) -> str:
        return self.live.node.path if self.live else ""


@dataclass(slots=True, eq=False)
class Member:
    """A component of a frame, with all its iterations."""

    frame: Frame
    planned: Planned
    place: int
    blockers: int
    """Components it depends on that are not over."""
    dependents: list[Member] = field(default_factory=list)
    inputs: Mapping[str, str] = field(default_factory=dict)
    items: tuple[Value, ...] | None = None
    """None: it is no loop, or its items are not known yet."""
    total: int = 0
    """Iterations; 0 also until they are known."""
    begun: int = 0
    over: Counter[NodeState] = field(default_factory=Counter)
    """Iterations that are over, by how they ended."""
    lives: dict[int, Live] = field(default_factory=dict)
    """Iterations under way."""
    first: Node | None = None
    """The first iteration, once it has begun."""
    outputs: dict[int, Mapping[str, str]] = field(default_factory=dict)
    """Output artifacts of iterations that are over."""
    results: dict[int, Mapping[str, Value]] = field(default_factory=dict)
    """Small results of iterations that are over."""
    told: Mapping[str, Value] | None = None
    """All of them as others see them; None: nobody has asked since it was over."""
    state: NodeState = NodeState.PENDING

    @property
    def path(self) -> str:
        """That of its first iteration."""
        return f"{self.frame.prefix}{self.planned.name}"

    @property
    def is_loop(self) -> bool:
        return self.planned.loop is not None

    def path_of(self, iteration: int) -> str:
        return f"{self.path}[{iteration}]" if iteration else self.path

    def runtime_name_of(self, iteration: int) -> str:
        name = f"{self.frame.runtime_name}{self.planned.name}"
        return f"{name}-{iteration}" if iteration else name


@dataclass(slots=True, eq=False)
class Live:
    """An iteration under way."""

    member: Member
    node: Node
    """As it is to be kept."""
    stage: Stage
    slot: bool = False
    """It has one of the slots of the run, and the semaphores that it needs."""
    judged: bool = False
    """The cache has said, while it had no slot, that its work is to be done by it."""
    due: datetime | None = None
    """When it has waited long enough: for an approval, for its next try."""
    frame: Frame | None = None
    """Of a DAG."""
    why: str = ""
    """Of one that is stopped: the message it ends with."""


@dataclass(slots=True)
class Outcome:
    """What is to be kept and done because of what happened."""

    nodes: dict[str, Node] = field(default_factory=dict)
    """By path."""
    loops: list[Loop] = field(default_factory=list)
    happenings: list[Happening] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class State:
    """All that is known of a run under way."""

    run: Run
    plan: Plan
    words: Words
    places: Mapping[str, int]
    """The place of each component in the order of the document, by its path without iterations."""
    now: datetime
    semaphores: Semaphores
    phase: Phase = Phase.MAIN
    frame: Frame | None = None
    """The frame of the phase."""
    lives: dict[str, Live] = field(default_factory=dict)
    """All iterations under way, by path."""
    ready: deque[Member] = field(default_factory=deque)
    """Components whose turn has come, or that never get one."""
    startable: deque[Member] = field(default_factory=deque)
    """Components of which iterations can begin."""
    asking: dict[str, Member] = field(default_factory=dict)
    """Components whose items are being read, by path."""
    again: list[tuple[Member, int]] = field(default_factory=list)
    """Iterations that had begun when the run was made anew, and of which nothing was kept."""
    turns: deque[Live] = field(default_factory=deque)
    """Steps that wait for a slot."""
    parked: dict[str, deque[Live]] = field(default_factory=dict)
    """Steps that wait for a semaphore, by its name; those that have waited longest come first."""
    freed: deque[str] = field(default_factory=deque)
    """Semaphores that steps wait for, and that may be free by now."""
    used: int = 0
    """Slots that are taken."""
    halting: str = ""
    """Why nothing new begins; empty: it does."""
    halted: bool = False
    """What was under way has been told to end."""
    first_failure: str = ""
    """What failed first, for people."""
    seen: Counter[NodeState] = field(default_factory=Counter)
    """How components of the phases before ended."""
    out: Outcome = field(default_factory=Outcome)


@dataclass(slots=True)
class Semaphores:
    """Which semaphores the steps of all runs hold."""

    held: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How many hold each, by owner and name."""
    freed: bool = False
    """Some have been given back since it was looked last."""

    def take(self, owner: str, names: tuple[str, ...], limits: Mapping[str, int]) -> str:
        """Takes all of them, or none and returns the name of one that is not free."""
        for name in names:
            if self.held[owner, name] >= limits[name]:
                return name
        self.held.update((owner, name) for name in names)
        return ""

    def give(self, owner: str, names: tuple[str, ...]) -> None:
        self.held.subtract((owner, name) for name in names)
        self.freed = self.freed or bool(names)


def look_again(state: State, names: Iterable[str]) -> None:
    """Semaphores may be free by now: whoever waits for them is to try."""
    state.freed.extend(name for name in names if name in state.parked)


def is_dag(planned: Planned) -> bool:
    return isinstance(planned, PlannedDag)


def semaphores_of(live: Live) -> tuple[str, ...]:
    """What an iteration needs to hold while its job runs."""
    planned = live.member.planned
    return planned.semaphores if isinstance(planned, PlannedStep) else ()
