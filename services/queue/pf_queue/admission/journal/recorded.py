"""An engine that writes down what it is told, and what comes of it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Protocol

from paddleflow.problems import Problem
from pf_queue.admission.collecting import uncollected
from pf_queue.admission.core.pool import Tuning
from pf_queue.admission.domain import Effects, Key, Outcome, Patience, Record, Spec
from pf_queue.admission.engine import Engine
from pf_queue.admission.journal.inputs import (
    Arrange,
    Input,
    Opening,
    Release,
    Resize,
    Resume,
    Round,
    Running,
    Submit,
    Turn,
    Update,
)
from pf_queue.admission.planting import Arrangement


class Log(Protocol):
    """Takes openings and turns, from any thread, and never makes anybody wait."""

    def begin(self, opening: Opening) -> None:
        """What comes from now on belongs to an engine that was just loaded."""

    def put(self, turn: Turn) -> None:
        """The next turn of the same engine."""


class RecordedEngine(Engine):
    """Decides as any engine. What was refused changes nothing, and is not written down."""

    def __init__(self, tuning: Tuning, patience: Patience, software: str, log: Log) -> None:
        super().__init__(tuning, patience)
        self._software = software
        self._log = log
        self._inputs: list[Input] = []
        self._undecided: Turn | None = None
        """The last turn, as long as nobody knows whether it is stored."""
        self._turns = 0
        self._begun = False
        self.idle = False
        """True if nothing came in lately, and nothing was decided."""

    def restore(self, records: Iterable[Record], now: int) -> None:
        known = tuple(records)
        super().restore(known, now)
        self._begin(known, now)

    def take_over(self, arrangement: Arrangement) -> None:
        layout, before, pools = arrangement.layout, self._layout, dict(self.pools)
        super().take_over(arrangement)
        # Machines may be reported again and again, and what admission knows of them is the same.
        if (self.pools, layout.pool_of, layout.states) != (pools, before.pool_of, before.states):
            self._inputs.append(Arrange(layout, arrangement.now))

    def submit(self, spec: Spec, now: int) -> Record:
        self._inputs.append(Submit(spec, now))
        before = self._number
        try:
            record = super().submit(spec, now)
        except Problem:
            self._inputs.pop()
            raise
        if self._number == before:
            # It was known already. A replay may not know it, because workloads that are over are in no opening.
            self._inputs.pop()
        return record

    def release(self, key: Key, grant: str, outcome: Outcome, now: int) -> Record:
        if str(key) not in self.records:
            return super().release(key, grant, outcome, now)
        self._inputs.append(Release(key, grant, outcome, now))
        try:
            return super().release(key, grant, outcome, now)
        except Problem:
            self._inputs.pop()
            raise

    def resize(self, key: Key, grant: str, left: Mapping[str, int]) -> Record:
        self._inputs.append(Resize(key, grant, dict(left)))
        try:
            return super().resize(key, grant, left)
        except Problem:
            self._inputs.pop()
            raise

    def update(self, key: Key, priority: int, revision: int, now: int) -> Record:
        self._inputs.append(Update(key, priority, revision, now))
        before = self.records.get(str(key))
        try:
            record = super().update(key, priority, revision, now)
        except Problem:
            self._inputs.pop()
            raise
        if record is before:
            self._inputs.pop()
        return record

    def running(self, key: Key, grant: str, now: int) -> None:
        self._inputs.append(Running(key, grant, now))
        super().running(key, grant, now)

    def resume(self, key: Key, now: int) -> Record:
        self._inputs.append(Resume(key, now))
        try:
            return super().resume(key, now)
        except Problem:
            self._inputs.pop()
            raise

    def round(self, now: int) -> bool:
        if self._dirty or ((due := self.next_time()) is not None and due <= now):
            self._inputs.append(Round(now))
        return super().round(now)

    def effects(self) -> Effects:
        effects = super().effects()
        self.idle = not self._inputs and not effects
        if not self.idle:
            self._turns += 1
            self._undecided = Turn(self._turns, self._inputs, effects, stored=True)
            self._inputs = []
        return effects

    def stored(self) -> None:
        """All that was decided is stored."""
        if self._undecided is not None:
            self._log.put(self._undecided)
            self._undecided = None

    def abandoned(self) -> None:
        """From now on another engine decides. What is not known to be stored is written down as such."""
        if not self._begun:
            return
        if self._undecided is not None:
            self._log.put(Turn(self._undecided.number, self._undecided.inputs, self._undecided.effects, stored=False))
        elif self._inputs:
            self._log.put(Turn(self._turns + 1, self._inputs, None, stored=False))
        self._undecided, self._inputs = None, []

    async def renew(self, now: int) -> bool:
        """Goes on as if it had just been loaded, which begins the log anew; False if something has come in meanwhile.

        The pools are made in a thread, because with many workloads it takes seconds.
        """
        if self._inputs or self._effects or self._undecided:
            return False
        records = tuple(self.records.values())
        fresh = Engine(self._tuning, self._patience)
        fresh.arrange(self.layout, now)
        with uncollected(stays=True):
            await asyncio.to_thread(fresh.restore, records, now)
            if self._inputs:
                return False
            self.records, self.pools, self._effects = fresh.records, fresh.pools, fresh.effects()
            self._dirty = dict.fromkeys(self.pools)
        self._begin(records, now)
        return True

    def _begin(self, records: tuple[Record, ...], now: int) -> None:
        self._inputs = []
        self._turns = 0
        self._begun = True
        opening = Opening(self._software, self._tuning, self._patience, self._number, now, self.layout, records)
        self._log.begin(opening)
