"""What is decided in one queue costs hardly more if many different sizes are asked for there."""

from __future__ import annotations

from functools import partial

from pf_queue.admission.core.decisions import Admit
from pf_queue.admission.core.pool import Tuning
from support.admission import Ground, Story
from support.admission_steps import steps

FEW, MANY = 100, 2000
"""Sizes."""


def crowd(sizes: int, *, strict: bool, room: int) -> Story:
    """A queue in which as many wait as there are sizes, the largest first."""
    story = Story(Ground({"line": {"strict": strict}, "other": {}}, [{"cpu": room}]), Tuning(decisions=1))
    for number in range(sizes):
        story.submit(f"w{number}", {"in": "line", "cpu": sizes - number})
    return story


def test_a_strict_queue_does_not_look_at_all_sizes() -> None:
    costs = []
    for sizes in (FEW, MANY):
        story = crowd(sizes, strict=True, room=sizes**2)
        story.pool.round(0)
        costs.append(steps(partial(story.pool.round, 0)))
    assert costs[1] < 2 * costs[0], costs


def test_all_sizes_before_one_are_not_looked_at_to_know_that_there_is_one() -> None:
    """The smallest is first by its share, and all others are before it in the queue."""
    each = []
    for sizes in (FEW, MANY):
        story = crowd(sizes, strict=False, room=sizes**2)
        assert [decision.id for decision in story.pool.round(0) if isinstance(decision, Admit)] == ["w0"]
        each.append(story.pool.contest.looks / sizes)
    assert each[1] < 2 * each[0], each
