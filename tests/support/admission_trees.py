"""Random pools of admission."""

from __future__ import annotations

import random
from typing import Any

from support.admission import Ground

RESOURCES = ("cpu", "gpu")


def random_ground(chance: random.Random, most_queues: int = 12, *, plain: bool = False) -> Ground:
    """A valid tree above one machine; a plain one has neither limits of jobs and users nor strict queues."""
    capacity = {resource: chance.randint(4, 16) for resource in RESOURCES}
    queues: dict[str, dict[str, Any]] = {}
    _grow(chance, queues, "", capacity, capacity, plain=plain)
    kept = dict(list(queues.items())[:most_queues])
    return Ground({name: fields for name, fields in kept.items() if name}, [capacity])


def _grow(
    chance: random.Random,
    queues: dict[str, dict[str, Any]],
    parent: str,
    promised: dict[str, int],
    ceiling: dict[str, int],
    *,
    plain: bool,
) -> None:
    left = dict(promised)
    for letter in "abc"[: chance.randint(1, 3)]:
        name = f"{parent}.{letter}" if parent else letter
        least = {resource: chance.randint(0, amount) for resource, amount in left.items()}
        left = {resource: amount - least[resource] for resource, amount in left.items()}
        most = {resource: chance.randint(least[resource], ceiling[resource]) for resource in RESOURCES}
        capped = chance.random() < 0.5
        queues[name] = {"min": least, "max": most if capped else {}, **_manners(chance, least, plain=plain)}
        if name.count(".") < 2 and chance.random() < 0.5:
            _grow(chance, queues, name, least, most if capped else ceiling, plain=plain)


def _manners(chance: random.Random, least: dict[str, int], *, plain: bool) -> dict[str, Any]:
    manners: dict[str, Any] = {
        "weight": chance.choice([1, 100, 300]),
        "priority": chance.choice([0, 0, 5]),
        "lend": {resource: chance.randint(0, least[resource]) for resource in RESOURCES if chance.random() < 0.4},
    }
    if not plain:
        manners["reach"] = chance.choice(["all", "all", "borrowers", "nobody"])
        manners["strict"] = chance.random() < 0.3
        manners["jobs"] = chance.choice([0, 0, 3])
        manners["user"] = {"cpu": chance.randint(2, 8)} if chance.random() < 0.3 else {}
    return manners
