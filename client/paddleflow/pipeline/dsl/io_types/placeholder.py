"""Names of values that components own: what stands for a value in a text until the pipeline is compiled.

A parameter, an artifact, a result or an item of a loop that is formatted into a text becomes a mention such as
``{{parameter: PF-ENTRY-POINT.train.epoch}}``, which says to whom it belongs. When the pipeline is compiled, each
mention is replaced by a template that the language knows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_COMPONENT = r"[a-zA-Z][a-zA-Z0-9-]{0,29}"
MENTION = re.compile(
    rf"\{{\{{\s*(?P<kind>parameter|artifact|result|loop):\s*(?P<owner>{_COMPONENT}(?:\.{_COMPONENT})*)"
    r"\.(?P<name>[A-Za-z_][A-Za-z0-9_]{0,49})\s*\}\}"
)


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A value by its name and the full name of the component that owns it."""

    name: str
    component_full_name: str


class ParameterPlaceholder(Placeholder):
    """A parameter."""

    __slots__ = ()


class ArtifactPlaceholder(Placeholder):
    """An artifact."""

    __slots__ = ()


class ResultPlaceholder(Placeholder):
    """A result of a step."""

    __slots__ = ()


class LoopPlaceholder(Placeholder):
    """The item of a loop."""

    __slots__ = ()


_KINDS = {
    "parameter": ParameterPlaceholder,
    "artifact": ArtifactPlaceholder,
    "result": ResultPlaceholder,
    "loop": LoopPlaceholder,
}


def mention(kind: str, full_name: str, name: str) -> str:
    """What is written into a text."""
    return f"{{{{{kind}: {full_name}.{name}}}}}"


def mentioned(found: re.Match[str]) -> Placeholder:
    """What such a text means."""
    return _KINDS[found["kind"]](name=found["name"], component_full_name=found["owner"])
