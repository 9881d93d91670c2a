"""Amounts in the messages of the job service."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddleflow.quantity import parse_amount
from pf_job.specs.amounts import readable


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        ("cpu", 100_000, "100"),
        ("cpu", 1_500, "1500m"),
        ("memory", 1000 * 2**30, "1000Gi"),
        ("memory", 2**40, "1Ti"),
        ("memory", 17, "17"),
        ("memory", 0, "0"),
        ("nvidia.com/gpu", 2**30, "1073741824"),
    ],
)
def test_amounts_are_told_as_people_write_them(resource: str, amount: int, text: str) -> None:
    assert readable(resource, amount) == text


@given(st.sampled_from(["cpu", "memory", "nvidia.com/gpu"]), st.integers(0, 10**18))
def test_what_is_told_is_exact(resource: str, amount: int) -> None:
    assert parse_amount(resource, readable(resource, amount)) == amount
