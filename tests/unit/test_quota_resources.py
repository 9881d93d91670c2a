from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pf_queue.resources import LARGEST, Excess, Resources, readable

NAMES = st.sampled_from(["cpu", "memory", "nvidia.com/gpu"])
AMOUNTS = st.dictionaries(NAMES, st.integers(0, LARGEST)).map(Resources)
UNITS = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60}


@pytest.mark.parametrize(
    ("name", "amount", "words"),
    [
        ("cpu", 0, "0 cores"),
        ("cpu", 1, "0.001 cores"),
        ("cpu", 1_000, "1 core"),
        ("cpu", 1_500, "1.5 cores"),
        ("cpu", 100_000, "100 cores"),
        ("memory", 0, "0 bytes"),
        ("memory", 1, "1 byte"),
        ("memory", 1023, "1023 bytes"),
        ("memory", 2**10, "1Ki"),
        ("memory", 3 * 2**29, "1.5Gi"),
        ("memory", 20 * 2**30, "20Gi"),
        ("memory", 20 * 2**30 + 1, "21474836481 bytes"),
        ("memory", 10**18, "953674316406.25Mi"),
        ("nvidia.com/gpu", 1_000, "1000"),
    ],
)
def test_amounts_in_words(name: str, amount: int, words: str) -> None:
    assert readable(name, amount) == words


@given(st.integers(0, LARGEST))
def test_words_say_exactly_the_amount(amount: int) -> None:
    cores = readable("cpu", amount).split()[0]
    assert Decimal(cores) * 1_000 == amount
    words = readable("memory", amount)
    unit = UNITS.get(words[-2:])
    assert (Decimal(words[:-2]) * unit if unit else Decimal(words.split()[0])) == amount


def test_an_absent_demand_is_nothing_and_an_absent_limit_is_no_limit() -> None:
    demand = Resources({"cpu": 2, "memory": 0})
    assert demand.amount("gpu") == 0
    assert "gpu" not in demand
    assert list(demand.above(Resources({"memory": 5}))) == [Excess("cpu", 2, 0)]
    assert list(demand.beyond(Resources({"cpu": 1}))) == [Excess("cpu", 2, 1), Excess("memory", 0, None)]


@given(AMOUNTS, AMOUNTS)
def test_a_limit_over_another_wins_where_it_says_something(upper: Resources, lower: Resources) -> None:
    both = upper.over(lower)
    assert set(both) == set(upper) | set(lower)
    assert all(both[name] == (upper[name] if name in upper else lower[name]) for name in both)


@given(st.lists(AMOUNTS))
def test_a_total_is_the_sum_of_each_resource(parts: list[Resources]) -> None:
    total = Resources.total(parts)
    assert set(total) == {name for part in parts for name in part}
    assert all(total[name] == sum(part.get(name, 0) for part in parts) for name in total)


@given(AMOUNTS, AMOUNTS)
def test_nothing_is_beyond_a_limit_that_covers_it(demand: Resources, limit: Resources) -> None:
    covered = all(name in limit and demand[name] <= limit[name] for name in demand)
    assert (not list(demand.beyond(limit))) is covered
    assert (not list(demand.above(limit))) is all(demand[name] <= limit.get(name, 0) for name in demand)


def test_resources_are_values() -> None:
    given_amounts = {"cpu": 1}
    one = Resources(given_amounts)
    given_amounts["cpu"] = 2
    assert one == Resources({"cpu": 1}) != Resources({"cpu": 2})
    assert hash(one) == hash(Resources({"cpu": 1}))
    assert one.replaced("cpu", None) == Resources()
    assert one.replaced("memory", 3) == Resources({"memory": 3, "cpu": 1})
    assert one == Resources({"cpu": 1})
