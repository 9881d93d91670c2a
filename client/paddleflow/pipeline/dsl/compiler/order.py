"""In which order components are written."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter

from paddleflow.pipeline.dsl.compiler.tree import Unwired


def ordered(deps: Mapping[str, set[str]]) -> list[str]:
    """The names, each after those it depends on, otherwise as they are given; raises Unwired if they go in circles."""
    place = {name: number for number, name in enumerate(deps)}
    names = list(deps)
    # Sets have another order in each process, and so would what is said of a circle.
    sorter = TopologicalSorter({name: sorted(each) for name, each in deps.items()})
    try:
        sorter.prepare()
    except CycleError as error:
        circle = " → ".join(reversed(error.args[1]))
        raise Unwired(f"its components wait for one another: {circle}; remove one of these dependences") from error
    ready: list[int] = []
    found: list[str] = []
    while sorter.is_active():
        for name in sorter.get_ready():
            heapq.heappush(ready, place[name])
        found.append(names[heapq.heappop(ready)])
        sorter.done(found[-1])
    return found
