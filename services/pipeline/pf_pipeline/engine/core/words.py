"""What a run needs to know of the language: how templates become values when a node's turn comes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from pf_pipeline.documents.model import Value
from pf_pipeline.plans.domain import Planned, PlannedDag, PlannedStep
from pf_pipeline.plans.values import Unsettled
from pf_pipeline.runs.domain import NodeWork

__all__ = ["Scope", "Sibling", "Turn", "Unsettled", "Words"]


@dataclass(frozen=True, slots=True)
class Sibling:
    """What a node can refer to of one that it depends on."""

    parameters: Mapping[str, Value]
    """Of its first iteration."""
    results: Mapping[str, Value]
    """Likewise."""
    outputs: Callable[[], Mapping[str, str]]
    """Paths of output artifacts; those of several iterations joined by commas."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What a node can refer to."""

    parameters: Mapping[str, Value] = field(default_factory=dict)
    """Of the DAG that it is in."""
    inputs: Mapping[str, str] = field(default_factory=dict)
    """Likewise."""
    argument: Value | None = None
    """Likewise: the item that this iteration of the DAG is about."""
    siblings: Mapping[str, Sibling] = field(default_factory=dict)
    """Those that the node depends on, by name."""


@dataclass(frozen=True, slots=True)
class Turn:
    """An iteration of a node, as the language sees it."""

    runtime_name: str
    """Its name with those of the DAGs it is in, as they stand in the paths of artifacts."""
    iteration: int
    argument: Value | None


class Words(Protocol):
    """The language, for one run."""

    def inputs(self, planned: Planned, scope: Scope) -> Mapping[str, str]:
        """Paths of input artifacts. Raises Unsettled."""

    def parameters(self, planned: Planned, scope: Scope, argument: Value | None) -> Mapping[str, Value]:
        """Own parameters of an iteration. Raises Unsettled."""

    def loop_file(self, planned: Planned, inputs: Mapping[str, str]) -> str:
        """The path of the file that holds the items of a loop; empty if they are known without one."""

    def items(
        self, planned: Planned, parameters: Mapping[str, Value], inputs: Mapping[str, str], content: str
    ) -> tuple[Value, ...]:
        """The items of a loop. Raises Unsettled."""

    def condition_files(self, planned: Planned, inputs: Mapping[str, str]) -> tuple[str, ...]:
        """Paths of the files whose contents a condition is about."""

    def condition(self, planned: Planned, turn: Turn, work: NodeWork, contents: Mapping[str, str]) -> tuple[str, bool]:
        """The condition with all templates replaced, and whether it holds. Raises Unsettled."""

    def step(self, planned: PlannedStep, turn: Turn, work: NodeWork) -> NodeWork:
        """All that a step is about, given its parameters and inputs. Raises Unsettled."""

    def dag_outputs(self, planned: PlannedDag, siblings: Mapping[str, Sibling]) -> Mapping[str, str]:
        """Paths of the output artifacts of a DAG whose children are over."""
