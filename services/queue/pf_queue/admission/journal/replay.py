"""Replays a log of rounds: a fresh engine is told what the one before was told, and must come to the same bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paddleflow.problems import Problem
from pf_queue.admission.domain import Decided, Effects, Record
from pf_queue.admission.engine import Engine
from pf_queue.admission.journal.decode import (
    Malformed,
    inputs_of,
    opening_of,
    parsed,
    records_of,
    workloads_of,
)
from pf_queue.admission.journal.difference import Difference, first_difference
from pf_queue.admission.journal.encode import turn_line
from pf_queue.admission.journal.inputs import Input, Opening, Release, Resize, Resume, Running, Submit, Turn, Update
from pf_queue.admission.journal.reader import Line, SegmentFile

FAULTS = (ArithmeticError, AssertionError, AttributeError, LookupError, Problem, RecursionError, TypeError, ValueError)
"""How an engine fails: by a fault of its own, or because a file tells it what cannot be."""


class Begun(Engine):
    """An engine as it was when a segment was opened."""

    def __init__(self, opening: Opening) -> None:
        super().__init__(opening.tuning, opening.patience)
        self.arrange(opening.layout, opening.now)
        self.restore(opening.records, opening.now)
        self._number = opening.number


@dataclass(frozen=True, slots=True)
class Replayed:
    """A turn, and whether it came out the same."""

    turn: int
    inputs: Sequence[tuple[Input, str]]
    """Each with the queue that it is about; empty if there is none."""
    decided: Sequence[Decided]
    stored: bool
    fault: str
    """How the engine failed; empty if it did not."""
    difference: Difference | None
    read: int
    """Bytes of the file."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A segment is over."""

    why: str
    """Empty if it does not say: then whoever wrote it was killed, or writes still."""
    torn: bool


Step = Opening | Replayed | Ended


def replay(path: Path, begin: Callable[[Opening], Engine] = Begun) -> Iterator[Step]:
    """The opening of a segment, its turns up to the first that differs, and its end.

    Raises OSError, Damaged and Malformed.
    """
    file = SegmentFile(path)
    lines = file.lines()
    opening = _opening(lines)
    if opening is None:
        yield Ended("", torn=file.torn)
        return
    yield opening
    engine = _begun(begin, opening)
    for line in lines:
        row = parsed(line.text)
        if "end" in row:
            yield Ended(str(row["end"]), torn=file.torn)
            return
        replayed = _replayed(engine, row, line)
        yield replayed
        if replayed.difference is not None:
            return
    yield Ended("", torn=file.torn)


def _opening(lines: Iterator[Line]) -> Opening | None:
    """None if the file ends before."""
    first = next(lines, None)
    if first is None:
        return None
    head = parsed(first.text)
    count = workloads_of(head)
    records: list[Record] = []
    while len(records) < count:
        if (line := next(lines, None)) is None:
            return None
        records += records_of(parsed(line.text).get("workloads"))
    return opening_of(head, records)


def _begun(begin: Callable[[Opening], Engine], opening: Opening) -> Engine:
    try:
        return begin(opening)
    except FAULTS as error:
        raise Malformed(f"the opening is of no state that can be: {error!r}") from error


def _replayed(engine: Engine, row: Mapping[str, Any], line: Line) -> Replayed:
    inputs = inputs_of(row.get("inputs"))
    told: list[tuple[Input, str]] = []
    effects, fault = Effects(), ""
    try:
        for each in inputs:
            told.append((each, _queue(engine, each)))
            each.tell(engine)
        effects = engine.effects()
    except FAULTS as error:
        fault = repr(error)
    number, stored = row.get("turn"), row.get("stored")
    if type(number) is not int or type(stored) is not bool:
        raise Malformed("a turn has no number, or does not say whether it was stored")
    difference = None
    if row.get("effects") is not None:
        again = turn_line(Turn(number, inputs, None if fault else effects, stored))
        if again.encode() != line.text:
            difference = first_difference(row, fault or parsed(again.encode()))
    return Replayed(number, told, effects.decided, stored, fault, difference, line.read)


def _queue(engine: Engine, told: Input) -> str:
    match told:
        case Submit(spec, _):
            return spec.queue
        case Release(key=key) | Resize(key=key) | Update(key=key) | Running(key=key) | Resume(key=key):
            record = engine.find(key)
            return record.spec.queue if record else ""
        case _:
            return ""
