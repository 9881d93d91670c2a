"""Quantities and amounts."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddleflow.problems import InvalidArgument
from paddleflow.quantity import (
    LARGEST,
    format_amount,
    format_resources,
    parse_amount,
    parse_pairs,
    parse_resources,
    round_amount,
)

AMOUNTS = st.one_of(st.integers(0, LARGEST), st.integers(0, 4096).map(lambda n: n << 30), st.integers(0, 10**6))
RESOURCES = st.sampled_from(["cpu", "memory", "nvidia.com/gpu"])


@pytest.mark.parametrize(
    ("resource", "text", "amount"),
    [
        ("cpu", "2", 2000),
        ("cpu", "500m", 500),
        ("cpu", "0.5", 500),
        ("cpu", ".5", 500),
        ("cpu", "2.", 2000),
        ("cpu", "1e3", 1_000_000),
        ("cpu", "1500000u", 1500),
        ("cpu", " 4 ", 4000),
        ("memory", "20Gi", 20 * 2**30),
        ("mem", "20Gi", 20 * 2**30),
        ("memory", "1.5Ki", 1536),
        ("memory", "1E", 10**18),
        ("memory", "1E3", 1000),
        ("memory", "1000m", 1),
        ("memory", "100m", 1),
        ("memory", "1.1Gi", 1_181_116_007),
        ("memory", "+7k", 7000),
        ("nvidia.com/gpu", "8", 8),
        ("nvidia.com/gpu", "0", 0),
    ],
)
def test_a_quantity_stands_for_an_amount(resource: str, text: str, amount: int) -> None:
    assert parse_amount(resource, text) == amount


@pytest.mark.parametrize(
    ("resource", "text", "why"),
    [
        ("cpu", "-1", "'-1' is negative"),
        ("cpu", "0.0005", "'0.0005' is no whole number of units; the unit is one thousandth of a core"),
        ("memory", "-100m", "'-100m' is negative"),
        ("nvidia.com/gpu", "0.5", "'0.5' is no whole number of units; the unit is one piece"),
        ("memory", "2E", "'2E' is more than the largest amount, 1E"),
        ("cpu", "1e99", "'1e99' is more than the largest amount, 1000000000000000"),
        ("memory", "20GiB", "'20GiB' is not a quantity such as"),
        ("memory", "20 Gi", "'20 Gi' is not a quantity such as"),
        ("cpu", "two", "'two' is not a quantity such as"),
        ("cpu", "", "'' is not a quantity such as"),
        ("cpu", "1e999999999", "'1e999999999' is not a quantity such as"),
        ("cpu", "9" * 4000, "is not a quantity such as"),
        ("cpu", "٣", "'٣' is not a quantity such as"),
    ],
)
def test_what_is_no_amount_is_refused_with_the_resource_and_the_reason(resource: str, text: str, why: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        parse_amount(resource, text)
    [violation] = refused.value.violations
    assert violation.field == resource
    assert violation.description.startswith(why) or why in violation.description
    assert len(refused.value.message) < 200


@pytest.mark.parametrize("name", ["", "a b", "x" * 129, "ä", "a=b"])
def test_a_resource_has_a_name_that_the_api_takes(name: str) -> None:
    with pytest.raises(InvalidArgument, match="resource name"):
        parse_amount(name, "1")


@pytest.mark.parametrize("name", ["/gpu", "-a", "a-", "_.-/", "x" * 128])
def test_any_name_that_the_server_takes_is_taken(name: str) -> None:
    assert parse_amount(name, "1") == 1


@given(RESOURCES, AMOUNTS)
def test_an_amount_reads_back_as_it_was_written(resource: str, amount: int) -> None:
    assert parse_amount(resource, format_amount(resource, amount)) == amount


@given(RESOURCES, AMOUNTS)
def test_the_short_form_is_at_most_half_a_percent_off(resource: str, amount: int) -> None:
    short = round_amount(resource, amount)
    number = short.rstrip("mkKMGTPEi")
    factor = Fraction(parse_amount("nvidia.com/gpu", f"1{short.removeprefix(number)}".replace("1m", "1")))
    read = Fraction(number) * factor * (1000 if resource == "cpu" and not short.endswith("m") else 1)
    assert len(short) <= 7
    assert abs(read - amount) <= Fraction(amount, 200)


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        ("cpu", 1500, "1500m"),
        ("cpu", 12000, "12"),
        ("memory", 0, "0"),
        ("memory", 20 * 2**30, "20Gi"),
        ("memory", 10**9, "1G"),
        ("memory", 1023, "1023"),
        ("nvidia.com/gpu", 16, "16"),
    ],
)
def test_an_amount_is_written_as_short_as_it_can_be_exactly(resource: str, amount: int, text: str) -> None:
    assert format_amount(resource, amount) == text


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        ("memory", 16_699_195_392, "15.6Gi"),
        ("memory", 20 * 2**30, "20Gi"),
        ("cpu", 1500, "1500m"),
        ("cpu", 123_456_789_000, "123M"),
        ("nvidia.com/gpu", 1_234_567_890, "1.23G"),
        ("memory", 1023 * 2**30 + 1, "1023Gi"),
        ("memory", 1_073_473_388_544, "1000Gi"),
        ("cpu", 999_999_900_000, "1000M"),
    ],
)
def test_an_amount_is_rounded_for_people(resource: str, amount: int, text: str) -> None:
    assert round_amount(resource, amount) == text


def test_resources_are_read_by_name_and_numbers_stand_for_their_text() -> None:
    assert parse_resources({"cpu": 2, "mem": "1Gi", "nvidia.com/gpu": "4"}) == {
        "cpu": 2000,
        "memory": 2**30,
        "nvidia.com/gpu": 4,
    }


def test_mem_and_memory_are_one_resource() -> None:
    with pytest.raises(InvalidArgument, match="given twice"):
        parse_resources({"mem": "1", "memory": "1"})


def test_resources_are_written_with_cpu_and_memory_first() -> None:
    amounts = {"a/b": 1, "memory": 2**20, "z": 2, "cpu": 500}
    assert list(format_resources(amounts).items()) == [("cpu", "500m"), ("memory", "1Mi"), ("a/b", "1"), ("z", "2")]


def test_pairs_are_apart_by_commas() -> None:
    assert parse_pairs("labels", " a=1, b = x=y ,,c=") == {"a": "1", "b": "x=y", "c": ""}


@pytest.mark.parametrize(
    ("text", "why"), [("a", "'a' is not"), ("=1", "'=1' is not"), ("a=1,a=2", "'a' is given twice")]
)
def test_what_is_no_list_of_pairs_is_refused(text: str, why: str) -> None:
    with pytest.raises(InvalidArgument, match=f"^labels: {why}"):
        parse_pairs("labels", text)
