"""Whoever has left takes no room for long."""

from __future__ import annotations

from random import Random

from pf_queue.admission.core.pool import SECOND
from pf_queue.admission.core.shapes import Shapes
from pf_queue.admission.core.shields import Shields
from pf_queue.admission.core.stands import InLine, Stand
from pf_queue.admission.core.wishes import Tier
from pf_queue.admission.core.workloads import Holding
from support.admission import Ground, Story


def test_a_line_has_no_more_who_left_than_who_wait() -> None:
    """They come, leave and come back in any order; the first is the first of those who wait all the time."""
    place = Ground({"a": {}}, [{"cpu": 1}]).tree().by_name["a"]
    stand, shape, chance = Stand(place, None, ()), Shapes().own(Tier.BASE, (1, 1), place.reach, ""), Random(1)
    waiting: set[InLine] = set()
    for number in range(10000):
        # At first any of them leaves or comes, then who is in front leaves.
        entry = ((0, 0, chance.randrange(200)), "w") if number % 1000 < 900 or not waiting else min(waiting)
        if entry in waiting:
            waiting.remove(entry)
            stand.step_out(shape, entry, waiting.__contains__)
        else:
            waiting.add(entry)
            stand.join(shape, entry)
        line = stand.lines.get(shape, [])
        assert len(line) <= 2 * len(waiting)
        assert line[:1] == sorted(waiting)[:1]
        assert [front for front, _ in stand.fronts[Tier.BASE]] == line[:1]


def test_only_shields_of_who_is_there_are_kept() -> None:
    story = Story(Ground({"a": {}}, [{"cpu": 1}]))
    holdings: dict[str, Holding] = {}
    shields = Shields(holdings)
    for number in range(1000):
        workload = story.workload(f"w{number}", {"in": "a", "shield": 1000 - number % 7})
        holdings[workload.id] = holding = Holding(workload, 0, number, running=number)
        shields.expect(holding)
        if number >= 10:
            del holdings[f"w{number - 10}"]
        shields.tidy()
        assert len(shields) <= 2 * len(holdings) + 16
    ends = sorted(number + (1000 - number % 7) * SECOND for number in range(990, 1000))
    assert shields.next is not None
    assert shields.next <= ends[0]
    assert shields.ended(ends[-1]) >= len(ends)
