"""Documents of pipelines that are short enough for a line, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pf_pipeline.documents.findings import Problem
from pf_pipeline.documents.reading import read
from pf_pipeline.plans.planning import examined
from pf_pipeline.plans.requests import Request


def problems(text: str, **asked: Any) -> tuple[Problem, ...]:
    """What is wrong with a document that says this beside its name."""
    return examined(read(f"name: garden\n{text}"), Request(**asked))[1]


def steps(text: str, more: str = "", **asked: Any) -> tuple[Problem, ...]:
    """What is wrong with these entry points, in flow style without the outer braces."""
    return problems(f"entry_points: {{{text}}}\n{more}", **asked)


def told(found: tuple[Problem, ...]) -> Mapping[str, str]:
    """Messages by path."""
    return {problem.path: problem.message for problem in found}
