"""A replay, told in plain values: what `paddleflow queue replay` finds when this package is installed beside it.

The client knows nothing of this package, and this package nothing of the command line. Between them stands the entry
point `replay` of the group `paddleflow.rounds`: a function that is given a path and gives one mapping for each event.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path

from pf_queue.admission.domain import Decided, DecisionKind
from pf_queue.admission.journal.decode import Malformed
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
    Update,
)
from pf_queue.admission.journal.reader import Damaged
from pf_queue.admission.journal.replay import Ended, Replayed, replay
from pf_queue.admission.journal.segments import segments

Event = Mapping[str, object]


def report(path: Path) -> Iterator[Event]:
    """All that there is in a file, or in the files of a folder, oldest first.

    The key `event` says which it is: `segment`, then any number of `turn`, then `end` or `unreadable`.
    """
    for each in segments(path) if path.is_dir() else [path]:
        try:
            yield from _segment(each)
        except FileNotFoundError:
            # While a service goes on writing, the oldest are deleted.
            continue
        except (Damaged, Malformed, OSError) as error:
            yield {"event": "unreadable", "file": each.name, "message": str(error)}


def _segment(path: Path) -> Iterator[Event]:
    size = path.stat().st_size
    for step in replay(path):
        match step:
            case Opening():
                yield {
                    "event": "segment",
                    "file": path.name,
                    "bytes": size,
                    "written by": step.software,
                    "replayed by": version("paddleflow-server"),
                    "time": step.now,
                    "workloads": len(step.records),
                }
            case Replayed():
                yield _turn(path, step)
            case Ended():
                yield {"event": "end", "file": path.name, "why": step.why, "torn": step.torn}


def _turn(path: Path, step: Replayed) -> Event:
    difference = step.difference
    told = [told for told, _ in step.inputs]
    times = [each.now for each in told if not isinstance(each, Resize)]
    return {
        "event": "turn",
        "file": path.name,
        "turn": step.turn,
        "time": times[-1] if times else 0,
        "rounds": sum(isinstance(each, Round) for each in told),
        "inputs": [_input(each, queue) for each, queue in step.inputs if not isinstance(each, Round)],
        "decisions": [_decision(each) for each in step.decided],
        "stored": step.stored,
        "fault": step.fault,
        "difference": None
        if difference is None
        else {"field": difference.field, "logged": difference.logged, "replayed": difference.replayed},
        "read": step.read,
    }


def _input(told: Input, queue: str) -> Event:
    match told:
        case Submit(spec, _):
            roles = {role.role: f"{role.least}-{role.most}" for role in spec.roles}
            return _named("submit", str(spec.key), queue, {"user": spec.user, "priority": spec.priority, **roles})
        case Release(key, _, outcome, _):
            return _named("release", str(key), queue, {"outcome": outcome.value})
        case Resize(key, _, left):
            return _named("resize", str(key), queue, left)
        case Update(key, priority):
            return _named("update", str(key), queue, {"priority": priority})
        case Running(key=key):
            return _named("running", str(key), queue)
        case Resume(key=key):
            return _named("resume", str(key), queue)
        case Arrange(layout, _):
            machines = sum(len(pool.sizes) for pool in layout.pools.values())
            return _named("arrange", "", "", {"queues": len(layout.pool_of), "machines": machines})
        case Round():
            return _named("round", "", "")


def _named(kind: str, job: str, queue: str, told: Mapping[str, str | int] | None = None) -> Event:
    return {"kind": kind, "job": job, "queue": queue, "told": dict(told or {})}


SIGNS: Mapping[DecisionKind, str] = {DecisionKind.ADMIT: "+", DecisionKind.GROW: "+", DecisionKind.EVICT: "-"}


def _decision(decided: Decided) -> Event:
    sign = SIGNS.get(decided.kind, "")
    return {
        "kind": decided.kind.value,
        "job": str(decided.key),
        "queue": decided.queue,
        "reason": decided.why.value if decided.why else "",
        "for": decided.beneficiary,
        "replicas": {each.role: f"{sign}{each.base + each.surplus}" for each in decided.replicas},
    }
