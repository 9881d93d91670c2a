"""Conditions that are made to do harm take little time, and only ever yield true, false or a problem."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pf_pipeline.conditions.evaluation import evaluate
from pf_pipeline.conditions.operators import BINARY
from pf_pipeline.conditions.parsing import LEVEL, parse
from pf_pipeline.conditions.problems import ConditionError, ConditionSyntaxError

LONG = "a" * 6000
HOSTILE = {
    "brackets": "(" * 60_000,
    "closed brackets": "(" * 4000 + "true" + ")" * 4000,
    "signs": "-(" * 4000 + "1" + ")" * 4000,
    "levels": "(true || true && 1 == 1 & 1 << 1 + 1 * 1 ** " * 500,
    "a long sum": "1" + " + 1" * 4000 + " > 0",
    "powers": "9" + " ** 9" * 4000 + " > 0",
    "shifts": "1 << 99999999999999 == 0",
    "a long list": "1 in (" + "2, " * 4000 + "3)",
    "a million characters": "'" + "x" * 2**20 + "' == x",
    "a pattern that doubles": f"'{LONG}' =~ '(a*)*b'",
    "a pattern of choices": f"'{LONG}' =~ '(a|a)*b'",
    "a pattern that is repeated": f"'{LONG}' =~ '(a{{0,500}}){{0,2}}b'",
    "a pattern too large": f"{LONG} =~ '((a{{100}}){{100}}){{100}}'",
    "many patterns": " || ".join(f"'{'a' * 300}' =~ '(a|b|c){{1,9{at}}}z'" for at in range(20)),
    "too many patterns": " || ".join(["a =~ b"] * 21),
    "a text too long for a pattern": f"'{'a' * 8192}' =~ b",
    "open quotes": "'" + "\\a" * 30_000,
    "square brackets": "[" * 60_000,
    "spaces": " " * 60_000,
    "half of a character": "\ud800 == a",
    "no character": "a\0 == a",
    "code": "__import__('os').system('true')",
    "attributes": "''.__class__ == x",
}
PIECES = [
    *LEVEL,
    "(",
    ")",
    "[",
    "]",
    "'",
    '"',
    "\\",
    "!",
    "~",
    " ",
    "0x1F",
    ".5",
    "7",
    "a",
    "v1.X",
    "true",
    "in",
    "é",
    "²",
]
QUOTED = ["'2022-01-01'", "'9:15AM'", "''", "'a b'"]


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_condition_that_does_harm_is_done_with_quickly(text: str) -> None:
    began = time.perf_counter()
    outcome = yields(text)
    assert time.perf_counter() - began < 10
    assert len(outcome) < 1000


@given(st.lists(st.sampled_from(PIECES + QUOTED) | st.text(max_size=3), max_size=20).map("".join))
def test_any_text_yields_true_false_or_a_problem(text: str) -> None:
    yields(text)


@given(st.lists(st.sampled_from(PIECES + QUOTED), max_size=12).map(" ".join))
def test_any_words_yield_true_false_or_a_problem(text: str) -> None:
    yields(text)


@given(st.text(max_size=30), st.text(max_size=30))
def test_quoted_texts_are_compared_as_they_are(left: str, right: str) -> None:
    # The sign keeps them from being dates.
    assert yields(f"{quoted('=' + left)} == {quoted('=' + right)}") == str(left == right)
    assert yields(f"{quoted('=' + left)} < {quoted('=' + right)}") == str(left < right)


@given(st.integers(0, 2**53), st.integers(0, 2**53))
def test_numbers_are_compared_as_numbers(left: int, right: int) -> None:
    assert yields(f"{left} < {right}") == str(left < right)
    assert yields(f"'' + {left} == '{left}'") == "True"


@given(st.floats(), st.floats())
def test_reckoning_never_fails(left: float, right: float) -> None:
    for symbol in ("+", "-", "*", "/", "%", "**"):
        assert isinstance(BINARY[symbol](left, right), float)


def quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace('"', '\\"') + "'"


def yields(text: str) -> str:
    try:
        return str(evaluate(parse(text)))
    except (ConditionSyntaxError, ConditionError) as error:
        return str(error)
