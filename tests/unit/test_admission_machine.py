"""Random lives of random pools, and what holds at every moment of each."""

from __future__ import annotations

import gc
import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from pf_queue.admission.core import shapes
from pf_queue.admission.core.amounts import plus, within
from pf_queue.admission.core.decisions import Decision, Evict
from pf_queue.admission.core.places import Reach
from pf_queue.admission.core.pool import SECOND, Pool, Tuning
from pf_queue.admission.core.workloads import Why, Workload
from support.admission import PATIENT, Ground, Outcome, Story
from support.admission_checks import check
from support.admission_first import first
from support.admission_trees import random_ground


def guaranteed(pool: Pool, workload: Workload) -> bool:
    """True if a workload is within the guarantees of all queues on its way, with all that they have and keep.

    Of the guarantee of a queue, what those below it lend to nobody is for them alone.
    """
    booked, need = pool.yard.booked, workload.base
    for at in pool.yard.place(workload.queue).path[:-1]:
        local = at.local or pool.yard.tree.space.nothing
        lent = tuple(own - kept + alone for own, kept, alone in zip(at.min, at.withheld, local, strict=True))
        used = plus(tuple(booked.used[at.index]), workload.base)
        drawn = plus(tuple(booked.drawn[at.index]), need)
        if not within(used[1:], at.min[1:]) or not within(drawn[1:], lent[1:]):
            return False
        need = booked.passes(at, need)
    return True


class PoolMachine(RuleBasedStateMachine):
    """A pool, and another that is told the same."""

    def __init__(self) -> None:
        super().__init__()
        self.story: Story
        self.twin: Story
        self.names = 0
        self.booked: set[str] = set()

    @property
    def pool(self) -> Pool:
        return self.story.pool

    @initialize(seed=st.integers(0, 2**16))
    def begin(self, seed: int) -> None:
        ground = random_ground(random.Random(seed))
        self.story, self.twin = Story(ground), Story(ground)

    @rule(data=st.data(), count=st.integers(1, 4))
    def submit(self, data: st.DataObject, count: int) -> None:
        for _ in range(count):
            self._submit_one(data)

    def _submit_one(self, data: st.DataObject) -> None:
        self.names += 1
        least = data.draw(st.integers(1, 3))
        fields: dict[str, Any] = {
            "in": data.draw(st.sampled_from(sorted(self.story.ground.queues))),
            "cpu": data.draw(st.integers(0, 3)),
            "gpu": data.draw(st.integers(0, 2)),
            "user": data.draw(st.sampled_from(["ann", "ben"])),
            "priority": data.draw(st.sampled_from([0, 0, 5])),
            "least": least,
            "most": least + data.draw(st.sampled_from([0, 0, 2])),
            "grace": 1,
            "shield": data.draw(st.sampled_from([0, 0, 5])),
        }
        for story in (self.story, self.twin):
            story.submit(f"w{self.names}", fields)

    @rule(data=st.data())
    @precondition(lambda self: self.pool.yard.holdings)
    def end(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.pool.yard.holdings)))
        for story in (self.story, self.twin):
            story.leave(name)

    @rule(data=st.data())
    @precondition(lambda self: self.pool.yard.holdings)
    def give_back(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.pool.yard.holdings)))
        for story in (self.story, self.twin):
            story.shrink(name)
            story.pool.running(name, story.now)

    @rule(data=st.data())
    @precondition(lambda self: self.pool.waiting)
    def cancel(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.pool.waiting)))
        self.booked.discard(name)
        for story in (self.story, self.twin):
            story.pool.cancel(name)

    @rule(data=st.data(), priority=st.sampled_from([-5, 0, 5]))
    @precondition(lambda self: self.pool.waiting)
    def revise(self, data: st.DataObject, priority: int) -> None:
        """Room that is kept for a workload stays so."""
        name = data.draw(st.sampled_from(sorted(self.pool.waiting)))
        for story in (self.story, self.twin):
            story.pool.revise(replace(story.pool.waiting[name], priority=priority), story.now)
        assert set(self.pool.bookings) == self.booked

    @rule()
    def obey(self) -> None:
        """All who were told to leave do, and wait again."""
        for name in [name for name, holding in self.pool.yard.holdings.items() if holding.leaving]:
            for story in (self.story, self.twin):
                story.requeue(name)

    @rule()
    def replant(self) -> None:
        for story in (self.story, self.twin):
            story.replant(story.ground)

    @rule(seconds=st.integers(0, 70))
    def rounds(self, seconds: int) -> None:
        for story in (self.story, self.twin):
            story.now += seconds * SECOND
        self._settle()
        assert self.booked == set(self.pool.bookings)
        self._nobody_is_denied()

    def _settle(self) -> None:
        """Rounds until one decides nothing; the twin decides the same."""
        for _ in range(PATIENT):
            self.story.now = self.twin.now = self.story.now + SECOND // 10
            decided = self.pool.round(self.story.now)
            assert decided == self.twin.pool.round(self.twin.now)
            check(self.pool)
            if not decided:
                return
            self._account(decided)
        raise AssertionError("a pool that is told nothing decides for ever")

    def _account(self, decided: list[Decision]) -> None:
        """Nobody leaves for nobody, and no booking vanishes: it is admitted, cancelled or late."""
        for decision in decided:
            match decision:
                case Evict():
                    assert decision.why is not Why.DRAIN
                    assert any(decision.beneficiary == other.id for other in decided if not isinstance(other, Evict))
                case _ if type(decision).__name__ == "Book":
                    self.booked.add(decision.id)
                case _:
                    self.booked.discard(decision.id)

    def _nobody_is_denied(self) -> None:
        """Whoever is within all guarantees is admitted, or room is kept for it, unless shields or limits are before."""
        if any(holding.shielded(self.story.now) for holding in self.pool.yard.holdings.values()):
            return
        for name, workload in self.pool.waiting.items():
            place = self.pool.yard.place(workload.queue)
            free = name not in self.pool.bookings and name not in self.pool.misfits and guaranteed(self.pool, workload)
            limited = place.per_user is not None or any(at.max[0] < 2**60 for at in place.path)
            starving = any(booking.starving for booking in self.pool.bookings.values())
            if free and not place.strict and not limited and not starving and place.reach is not Reach.NOBODY:
                raise AssertionError(f"{name} waits within all guarantees")

    @invariant()
    def holds(self) -> None:
        if hasattr(self, "story"):
            check(self.pool)
            # Both are asked: at which place somebody counts as held up depends on where it was looked.
            assert self.pool.contest.best() == self.twin.pool.contest.best() == first(self.pool)


PoolMachine.TestCase.settings = settings(max_examples=150, stateful_step_count=40)
TestPoolMachine = PoolMachine.TestCase


@pytest.mark.parametrize("seed", range(20))
def test_victims_that_come_back_at_once_do_not_swing(seed: int) -> None:
    """With nothing new to decide, a pool comes to rest, whoever was sent away waits again at once."""
    chance = random.Random(seed)
    story = crowded(random_ground(chance), chance, 40)
    evicted = 0
    for _ in range(60):
        evicted += len(story.settle().evicted)
        leaving = [name for name, holding in story.pool.yard.holdings.items() if holding.leaving]
        shrinking = [name for name, holding in story.pool.yard.holdings.items() if any(holding.shrinking)]
        for name in shrinking:
            story.shrink(name)
        for name in leaving:
            story.requeue(name)
        if not leaving and not shrinking:
            break
    else:
        raise AssertionError(f"{evicted} evictions, and no end")
    assert evicted <= 120


def test_nobody_is_forgotten_for_whom_one_round_had_no_time() -> None:
    """Twenty can be helped by nobody; the last in order can, and is looked at without anything that happens."""
    story = Story(Ground({"a": {"min": {"cpu": 100}}, "b": {}, "c": {}, "d": {}}, [{"cpu": 100, "gpu": 16}]))
    story.submit("all", {"in": "a", "cpu": 100})
    for number in range(16):
        story.submit(f"lent{number}", {"in": "d", "gpu": 1})
    story.settle()
    for number in range(20):
        story.submit(f"vain{number}", {"in": "b", "cpu": 1 + number})
    story.submit("right", {"in": "c", "gpu": 2})
    evicted = story.settle().evicted
    until = story.now + 10 * SECOND
    while not evicted and (due := story.pool.next_time()) is not None and due < until:
        story.now = max(story.now, due)
        evicted = story.settle().evicted
    assert set(evicted.values()) == {"reclaim for right"}


@pytest.mark.parametrize("seed", range(40))
def test_whoever_is_served_is_first(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before every single decision, with all that has been found out and remembered by then, or forgotten."""
    if seed % 2:
        monkeypatch.setattr(shapes, "MOST", 3)
    chance = random.Random(seed)
    story = Story(random_ground(chance), Tuning(decisions=1))
    for number in range(120):
        story.submit(f"w{number}", random_wishes(chance, sorted(story.ground.queues)))
        for _ in range(chance.randint(0, 3)):
            assert story.pool.contest.best() == first(story.pool)
            story.pool.round(story.now)
            story.now += chance.choice([0, SECOND // 20, SECOND])
        for name in [name for name, holding in story.pool.yard.holdings.items() if holding.leaving]:
            story.leave(name)
        if story.pool.yard.holdings and chance.random() < 0.6:
            story.leave(chance.choice(sorted(story.pool.yard.holdings)))


def test_whoever_was_held_up_may_leave_before_anybody_asks() -> None:
    """It was held up at its queue, and what it wanted is held up further up still."""
    story = Story(Ground({"a": {"max": {"cpu": 4}}, "b": {}}, [{"cpu": 8}]))
    for name, queue, cpu in (("a1", "a", 4), ("a2", "a", 2), ("b1", "b", 2), ("b2", "b", 2), ("b3", "b", 2)):
        story.submit(name, {"in": queue, "cpu": cpu})
        story.settle()
    story.submit("a3", {"in": "a", "cpu": 2, "priority": 5})
    for name in ("a3", "a2"):
        story.pool.cancel(name)
    assert story.settle() == Outcome()


def test_what_was_wanted_once_is_forgotten() -> None:
    """What must come from above of a wish differs with all that is used of what is lent to nobody."""
    queues = {"a": {"min": {"cpu": 60}, "lend": {"cpu": 10}}, "b": {}}
    story, chance = Story(Ground(queues, [{"cpu": 100}])), random.Random(1)
    most = 0
    for number in range(6000):
        story.submit(f"w{number}", {"in": chance.choice("ab"), "cpu": chance.randint(1, 50)})
        story.pool.round(story.now)
        holdings = list(story.pool.yard.holdings)
        if len(story.pool.waiting) > 20:
            story.pool.cancel(chance.choice(list(story.pool.waiting)))
        story.leave(chance.choice(holdings))
        if number % 500 == 0:
            most = max(most, sum(type(each) is shapes.Shape for each in gc.get_objects()))
    assert 0 < most < 5000, most


@pytest.mark.parametrize("seed", range(10))
def test_an_equal_tree_changes_nothing(seed: int) -> None:
    chance = random.Random(seed)
    ground = random_ground(chance)
    story = crowded(ground, chance, 25)
    while story.settle() != Outcome():
        pass
    before = (sorted(story.pool.bookings), sorted(story.pool.waiting), list(story.pool.yard.holdings))
    story.replant(ground)
    assert story.settle() == Outcome()
    assert before == (sorted(story.pool.bookings), sorted(story.pool.waiting), list(story.pool.yard.holdings))


def crowded(ground: Ground, chance: random.Random, count: int) -> Story:
    """A pool with workloads that came in waves."""
    story = Story(ground)
    for number in range(count):
        story.submit(f"w{number}", random_wishes(chance, sorted(ground.queues)))
        if number % 10 == 0:
            story.settle()
    return story


def random_wishes(chance: random.Random, queues: list[str]) -> dict[str, Any]:
    least = chance.randint(1, 2)
    most = least + chance.choice([0, 0, 2])
    amounts = {"cpu": chance.randint(0, 4), "gpu": chance.randint(0, 3)}
    return {"in": chance.choice(queues), "least": least, "most": most, "priority": chance.choice([0, 0, 5]), **amounts}
