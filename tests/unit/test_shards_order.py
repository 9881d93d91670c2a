"""In which order shards are handed out."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from pf_job.shards.order import number_at


@given(st.integers(1, 2000), st.integers(-(2**63), 2**63 - 1), st.integers(1, 10_000))
def test_each_number_has_exactly_one_place(count: int, seed: int, pass_: int) -> None:
    assert sorted(number_at(place, count, seed, pass_) for place in range(count)) == list(range(count))


def test_the_order_depends_on_the_seed_and_on_the_pass() -> None:
    orders = {
        tuple(number_at(place, 100, seed, pass_) for place in range(100)) for seed in (1, 2) for pass_ in (1, 2, 3)
    }
    assert len(orders) == 6
    assert tuple(number_at(place, 100, 1, 1) for place in range(100)) in orders


def test_it_looks_like_chance() -> None:
    """Neighbours come far from one another: in a thousand numbers, a third of the whole on average."""
    count = 1000
    order = [number_at(place, count, 7, 1) for place in range(count)]
    steps = [abs(a - b) for a, b in pairwise(order)]
    assert 0.28 < sum(steps) / len(steps) / count < 0.39


@given(st.integers(0, 999_999))
def test_a_million_needs_no_list(place: int) -> None:
    assert 0 <= number_at(place, 1_000_000, 3, 1) < 1_000_000
