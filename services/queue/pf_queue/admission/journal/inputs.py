"""What an engine is told, from its load on. With the same inputs, in the same order, it decides the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pf_queue.admission.core.pool import Tuning
from pf_queue.admission.domain import Effects, Key, Outcome, Patience, Record, Spec
from pf_queue.admission.engine import Engine
from pf_queue.admission.layout import Layout


@dataclass(frozen=True, slots=True)
class Arrange:
    """The queues or the machines have changed."""

    layout: Layout
    now: int

    def tell(self, engine: Engine) -> None:
        engine.arrange(self.layout, self.now)


@dataclass(frozen=True, slots=True)
class Submit:
    """A workload comes."""

    spec: Spec
    now: int

    def tell(self, engine: Engine) -> None:
        engine.submit(self.spec, self.now)


@dataclass(frozen=True, slots=True)
class Release:
    """An attempt is over."""

    key: Key
    grant: str
    outcome: Outcome
    now: int

    def tell(self, engine: Engine) -> None:
        engine.release(self.key, self.grant, self.outcome, self.now)


@dataclass(frozen=True, slots=True)
class Resize:
    """Surplus was given back."""

    key: Key
    grant: str
    left: Mapping[str, int]

    def tell(self, engine: Engine) -> None:
        engine.resize(self.key, self.grant, self.left)


@dataclass(frozen=True, slots=True)
class Update:
    """A workload that waits is of another priority."""

    key: Key
    priority: int
    revision: int
    now: int

    def tell(self, engine: Engine) -> None:
        engine.update(self.key, self.priority, self.revision, self.now)


@dataclass(frozen=True, slots=True)
class Running:
    """A workload was seen running."""

    key: Key
    grant: str
    now: int

    def tell(self, engine: Engine) -> None:
        engine.running(self.key, self.grant, self.now)


@dataclass(frozen=True, slots=True)
class Resume:
    """A held workload is to wait again."""

    key: Key
    now: int

    def tell(self, engine: Engine) -> None:
        engine.resume(self.key, self.now)


@dataclass(frozen=True, slots=True)
class Round:
    """Decisions were asked for."""

    now: int

    def tell(self, engine: Engine) -> None:
        engine.round(self.now)


Input: TypeAlias = Arrange | Submit | Release | Resize | Update | Running | Resume | Round


@dataclass(frozen=True, slots=True)
class Opening:
    """The state of an engine that was just loaded: all that its decisions depend on, beside what comes in later."""

    software: str
    """The version that decided."""
    tuning: Tuning
    patience: Patience
    number: int
    """Of the last workload that was submitted."""
    now: int
    layout: Layout
    records: Sequence[Record]


@dataclass(frozen=True, slots=True)
class Turn:
    """What came in between two commits, and what was to be stored because of it."""

    number: int
    inputs: Sequence[Input]
    effects: Effects | None
    """None if there are none, because the engine failed before."""
    stored: bool
    """False if the commit failed, or if nobody knows; then the state is loaded anew."""
