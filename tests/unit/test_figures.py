"""What is said of a measured value."""

from __future__ import annotations

import pytest

from support.figures import Figure


@pytest.mark.parametrize(
    ("value", "at_most", "at_least", "verdict"),
    [
        (1.0, None, None, ""),
        (1.0, 1.0, None, "ok"),
        (1.1, 1.0, None, "short"),
        (1.0, None, 1.0, "ok"),
        (0.9, None, 1.0, "short"),
        (0.0, 0.0, None, "ok"),
        (1.0, 0.0, None, "short"),
        (0.0, None, 1.0, "short"),
    ],
)
def test_a_value_meets_its_target_or_falls_short(
    value: float, at_most: float | None, at_least: float | None, verdict: str
) -> None:
    assert Figure("something", value, "s", at_most=at_most, at_least=at_least).verdict == verdict
