"""Queues have what they should over time, and guarantees are given back at once."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from pf_queue.admission.core.decisions import Evict
from support import admission_churn
from support.admission import Ground, Story
from support.admission_churn import PLENTY, Churn
from support.admission_fair import one_resource, random_vessels, returns, two_resources
from support.admission_shares import Vessel, leaves, poured, water_filled

WORST = 0.05
"""Of the machines."""


def test_water_fills_guarantees_first_then_by_weight() -> None:
    vessels = [Vessel("a", {"cpu": 4}, {}), Vessel("b", {}, {}, weight=200), Vessel("c", {"cpu": 2}, {})]
    assert water_filled(vessels, "cpu", 12, {"a": 9, "b": 9, "c": 1}) == pytest.approx(
        {"": 12, "a": 4 + 7 / 3, "b": 14 / 3, "c": 1}, abs=1e-4
    )


def test_water_stays_below_ceilings_and_inside_branches() -> None:
    vessels = [Vessel("a", {}, {}), Vessel("b", {}, {"cpu": 2}), Vessel("a.x", {}, {"cpu": 1}), Vessel("a.y", {}, {})]
    assert water_filled(vessels, "cpu", 10, {"a.x": 99, "a.y": 99, "b": 99}) == pytest.approx(
        {"": 10, "a": 8, "a.x": 1, "a.y": 7, "b": 2}, abs=1e-4
    )


def test_portions_follow_the_dominant_share() -> None:
    # The example of the paper on dominant resource fairness: 9 cores and 18 GB, as 3 and 2 workloads.
    vessels = [Vessel("a", {}, {}), Vessel("b", {}, {})]
    each = {"a": {"cpu": 1, "memory": 4}, "b": {"cpu": 3, "memory": 1}}
    found = poured(vessels, {"cpu": 9, "memory": 18}, each, {"a": 99, "b": 99})
    assert (found["a"]["cpu"], found["b"]["cpu"]) == pytest.approx((3, 6), abs=0.3)


def test_both_exchange_one_resource_where_another_is_got_late() -> None:
    """Below `b` cores are got last, when all of gpu is gone. With them `b` has 0.8, and `a` a right to as much."""
    vessels = [Vessel("a", {}, {}), Vessel("b", {}, {}), Vessel("b.x", {}, {}, 1), Vessel("b.y", {}, {}, 300)]
    each = {"a": {"gpu": 1}, "b.x": {"cpu": 1}, "b.y": {"gpu": 1}}
    should = poured(vessels, {"cpu": 100, "gpu": 10}, each, {"a": 20, "b.x": 80, "b.y": 20})
    assert (should["a"]["gpu"], should["b.y"]["gpu"]) == pytest.approx((8, 2), abs=0.5)
    story = Story(Ground({each.name: {"weight": each.weight} for each in vessels}, [{"cpu": 100, "gpu": 10}]))
    for queue, count in (("a", 20), ("b.y", 20), ("b.x", 80)):
        for number in range(count):
            story.submit(f"{queue}-{number}", {"in": queue, **each[queue]})
        story.settle()
    while leaving := [id_ for id_, holding in story.pool.yard.holdings.items() if holding.leaving]:
        for id_ in leaving:
            story.requeue(id_)
        story.settle()
    # For the eighth nobody leaves: `b` would have no more than `a` then.
    assert [len(story.pool.yard.by_queue[queue]) for queue in ("a", "b.x", "b.y")] == [7, 80, 3]


@pytest.mark.parametrize("seed", [0, 4])
def test_queues_have_their_share_of_one_resource(seed: int) -> None:
    assert one_resource(seed, measured=1800).worst <= WORST


@pytest.mark.parametrize("seed", [0, 1])
def test_queues_have_their_dominant_share_of_two(seed: int) -> None:
    assert two_resources(seed, measured=1800).worst <= WORST


@pytest.mark.parametrize("seed", [0, 3])
def test_guarantees_are_given_back(seed: int) -> None:
    found = returns(seed, deepest=1)
    assert found.needed > 0
    assert found.late == []
    assert (found.first_round, found.at_once, found.back) == (found.teams, found.asked, found.needed)


@pytest.mark.parametrize("seed", [0, 5, 7])
def test_as_long_as_nobody_ends_nobody_is_sent_away_again_and_again(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever was sent away waits again at once, after a grace that differs each time."""
    monkeypatch.setattr(admission_churn, "RUN", 10**9)
    chance, sent = Random(seed), Counter[str]()
    capacity = {"cpu": chance.randint(200, 500)}
    vessels = random_vessels(chance, capacity)
    each = {vessel.name: {"cpu": chance.randint(1, 8)} for vessel in leaves(vessels)}
    churn = Churn(vessels, capacity, each, chance)
    churn.on_decision = lambda decision, _: sent.update([decision.id] if isinstance(decision, Evict) else [])
    for name in each:
        churn.want(name, chance.choice([PLENTY, PLENTY, PLENTY, chance.randint(1, 20)]))
    for _ in churn.play(600):
        pass
    evicted = churn.evicted
    assert evicted > 0
    assert max(sent.values()) <= 2
    for _ in churn.play(1200):
        pass
    assert churn.evicted == evicted
