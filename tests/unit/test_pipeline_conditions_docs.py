"""What the page on conditions says of each of its examples is so."""

from __future__ import annotations

import re

import pytest

from pf_pipeline.conditions.evaluation import evaluate
from pf_pipeline.conditions.parsing import DEEPEST, MOST_PATTERNS, MOST_WITH_PATTERNS, parse
from pf_pipeline.conditions.problems import ConditionError, ConditionSyntaxError
from pf_pipeline.conditions.tokens import MOST_CHARACTERS, MOST_TOKENS
from support.repository import ROOT

PAGE = (ROOT / "docs/howto/conditions.md").read_text()
EXAMPLES = re.findall(r"^\| `(.+)` \| (holds|does not hold|fails|cannot be read) \|$", PAGE, re.MULTILINE)


def outcome(text: str) -> str:
    try:
        return "holds" if evaluate(parse(text)) else "does not hold"
    except ConditionSyntaxError:
        return "cannot be read"
    except ConditionError:
        return "fails"


@pytest.mark.parametrize(("text", "said"), EXAMPLES)
def test_an_example_is_right(text: str, said: str) -> None:
    assert outcome(text) == said


def test_there_are_examples_of_each() -> None:
    assert {said for _, said in EXAMPLES} == {"holds", "does not hold", "fails", "cannot be read"}


@pytest.mark.parametrize("number", [MOST_CHARACTERS, MOST_TOKENS, DEEPEST, MOST_PATTERNS, MOST_WITH_PATTERNS])
def test_limits_are_said(number: int) -> None:
    assert re.search(rf"\b{number:,}\b", PAGE)
