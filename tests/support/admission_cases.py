"""Cases of admission that are written down as data: `tests/data/admission/README.md` says how."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import yaml

from pf_queue.admission.core.explain import Explanation, explain
from pf_queue.admission.core.impossible import Impossible, impossible
from pf_queue.admission.core.pool import SECOND
from support.admission import Ground, Outcome, Story
from support.repository import ROOT

FOLDER = ROOT / "tests" / "data" / "admission"
CASE_FIELDS = {"why", "see", "machines", "capacity", "queues", "steps"}
DECIDED = {"admitted", "evicted", "grown", "booked", "unbooked"}


@dataclass(frozen=True)
class Case:
    theme: str
    name: str
    fields: Mapping[str, Any]

    @property
    def id(self) -> str:
        return f"{self.theme}: {self.name}"


def cases() -> Iterator[Case]:
    for path in sorted(FOLDER.glob("*.yaml")):
        for name, fields in yaml.safe_load(path.read_text()).items():
            yield Case(path.stem.replace("_", " "), name, fields)


def play(case: Case) -> None:
    """Does what the case says, and asserts what it expects."""
    assert case.fields.keys() <= CASE_FIELDS, case.fields.keys() - CASE_FIELDS
    fields = case.fields
    machines = fields.get("machines") or [fields["capacity"]]
    story = Story(Ground(fields["queues"], machines))
    for number, step in enumerate(fields["steps"], start=1):
        (word, said), *more = step.items()
        assert not more, f"step {number} says two things"
        _STEPS[word](story, said, f"step {number}")


def _round(story: Story, said: Mapping[str, Any] | None, where: str) -> None:
    said = said or {}
    assert said.keys() <= DECIDED, said.keys() - DECIDED
    evicted = dict(said.get("evicted", {}))
    beneficiaries = [what.partition(" for ")[2] for what in evicted.values()]
    expected = Outcome(
        admitted=list(said.get("admitted", [])),
        evicted=evicted,
        grown={name: str(count) for name, count in said.get("grown", {}).items()},
        booked=list(said.get("booked", dict.fromkeys(filter(None, beneficiaries)))),
        unbooked=list(said.get("unbooked", [])),
    )
    found = story.settle()
    assert found == expected, f"{where}: {found}, expected {expected}"


def _expect(story: Story, said: Mapping[str, Any], where: str) -> None:
    for what, expected in said.items():
        _EXPECTED[what](story, expected, where)


def _used(story: Story, said: Mapping[str, Mapping[str, int]], where: str) -> None:
    yard = story.pool.yard
    for name, amounts in said.items():
        place = yard.tree.root if name == "machines" else yard.place(name)
        used = yard.tree.space.named(tuple(yard.held.used[place.index]))
        assert used == {resource: amount for resource, amount in amounts.items() if amount}, (where, name)


def _waiting(story: Story, said: Mapping[str, Any], where: str) -> None:
    assert sorted(story.pool.waiting) == sorted(said), where
    for name, expected in said.items():
        position = story.pool.waiting.position(name)
        found = _explained(explain(story.pool, name, story.now), position)
        wanted = {"reason": expected} if isinstance(expected, str) else expected
        assert {key: found[key] for key in wanted} == wanted, (where, name)


def _explained(explanation: Explanation, position: int) -> dict[str, Any]:
    return {
        "reason": explanation.reason.value,
        "position": position,
        "place": explanation.place or "machines",
        "short": {name: [short.asked, short.free] for name, short in explanation.short.items()},
        "behind": explanation.behind,
    }


def _impossible(story: Story, said: Mapping[str, Mapping[str, Any] | None], where: str) -> None:
    for name, expected in said.items():
        wanted = Impossible(**{"queue": "", **expected}) if expected else None
        assert impossible(story.pool, story.pool.waiting[name]) == wanted, (where, name)


def _holding(story: Story, said: list[str], where: str) -> None:
    assert sorted(story.pool.yard.holdings) == sorted(said), where


def _replant(story: Story, said: Mapping[str, Any], where: str) -> None:
    story.replant(story.ground.changed(said.get("queues", {}), said.get("machines")))


def _submit(story: Story, said: Mapping[str, Mapping[str, Any]], where: str) -> None:
    for name, fields in said.items():
        story.submit(name, fields)


def _advance(story: Story, said: int, where: str) -> None:
    story.now += said * SECOND


def _each(do: Callable[[Story, str], None], story: Story, said: list[str], where: str) -> None:
    for name in said:
        do(story, name)


def _drop(story: Story, said: Mapping[str, int | list[int]], where: str) -> None:
    """A workload loses surplus that nobody told it to give back."""
    for name, counts in said.items():
        story.pool.shrink(name, (counts,) if isinstance(counts, int) else tuple(counts))


_EXPECTED: Mapping[str, Callable[[Story, Any, str], None]] = {
    "used": _used,
    "waiting": _waiting,
    "holding": _holding,
    "impossible": _impossible,
}
_STEPS: Mapping[str, Callable[[Story, Any, str], None]] = {
    "submit": _submit,
    "round": _round,
    "expect": _expect,
    "advance": _advance,
    "replant": _replant,
    "drop": _drop,
    "release": partial(_each, lambda story, name: story.leave(name)),
    "shrink": partial(_each, lambda story, name: story.shrink(name)),
    "requeue": partial(_each, lambda story, name: story.requeue(name)),
    "cancel": partial(_each, lambda story, name: story.pool.cancel(name)),
    "running": partial(_each, lambda story, name: story.pool.running(name, story.now)),
}
