"""How near each queue is to its fair share, and how soon guarantees are given back. In virtual time."""

from __future__ import annotations

from collections.abc import Sequence

from support.admission_fair import Deviation, Returns, one_resource, returns, two_resources
from support.figures import Figure

SEEDS = range(12)
SHORT = 5.0
"""Per cent of the machines by which a queue may be off, on average over time; the aim is 2."""


def figures() -> list[Figure]:
    one = [one_resource(seed) for seed in SEEDS]
    two = [two_resources(seed) for seed in SEEDS]
    flat, deep = Returns(), Returns()
    for seed in SEEDS:
        flat.add(returns(seed, deepest=1))
        deep.add(returns(seed))
    return [
        *deviations(f"one resource, {len(SEEDS)} trees", one),
        *deviations(f"two resources, {len(SEEDS)} trees", two),
        *given_back("flat trees", flat),
        *given_back("deep trees", deep),
    ]


def deviations(what: str, found: Sequence[Deviation]) -> list[Figure]:
    lost = sum(deviation.evicted for deviation in found) / sum(deviation.ended for deviation in found)
    each = [off for deviation in found for off in deviation.by_queue.values()]
    return [
        Figure(f"fair: off the water-filled share, the worst queue, {what}", max(each) * 100, "%", at_most=SHORT),
        Figure(f"fair: off the water-filled share, mean of all queues, {what}", sum(each) / len(each) * 100, "%"),
        Figure(f"fair: told to leave, for each that ends by itself, {what}", lost, ""),
    ]


def given_back(what: str, found: Returns) -> list[Figure]:
    """Parts of all that happened, which should be all of it."""
    teams, asked, needed = found.teams / 100, found.asked / 100, max(1, found.needed) / 100
    return [
        Figure(f"fair: teams provided for in the first round, {what}", found.first_round / teams, "%", at_least=100),
        Figure(f"fair: guaranteed, provided for at once, {what}", found.at_once / asked, "%", at_least=100),
        Figure(f"fair: admitted in the round after room was left, {what}", found.back / needed, "%", at_least=100),
    ]
