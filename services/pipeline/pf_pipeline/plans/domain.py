"""What a run is to do: a document in which everything that can be known beforehand has been settled.

References are followed, parameters of the request are in their places, disabled nodes are marked, and what the document
hands down has been handed down. What is left to be replaced while the run goes on are templates, each of which is known
to refer to something that is there. A plan never changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum

from pf_pipeline.documents.model import (
    Approval,
    Cache,
    HandlerWhen,
    Loop,
    Mount,
    ParameterKind,
    Result,
    Retry,
    Strategy,
    Value,
)


class Kind(StrEnum):
    """What a node is in its run."""

    STEP = "step"
    DAG = "dag"
    POST_PROCESS = "post_process"
    EXIT_HANDLER = "exit_handler"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedNode:
    """A step or a DAG."""

    name: str
    reference: str = ""
    """The component of which it is a copy; empty if it is none."""
    deps: tuple[str, ...] = ()
    """Names of siblings."""
    parameters: Mapping[str, Value] = field(default_factory=dict)
    """Values, or texts with templates."""
    kinds: Mapping[str, ParameterKind] = field(default_factory=dict)
    """What values of parameters must be, where the document says it."""
    inputs: Mapping[str, str] = field(default_factory=dict)
    """Templates: `{{sibling.output}}` or `{{PF_PARENT.input}}`."""
    condition: str = ""
    loop: Loop | None = None
    max_parallel: int = 0
    """How many iterations may run at once; 0: as many as the run allows."""
    disabled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStep(PlannedNode):
    """A step with all that was handed down to it."""

    kind: Kind = Kind.STEP
    command: str = ""
    docker_env: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    outputs: tuple[str, ...] = ()
    results: Mapping[str, Result] = field(default_factory=dict)
    cache: Cache = field(default_factory=Cache)
    """All fields set."""
    extra_fs: tuple[Mount, ...] = ()
    retry: Retry | None = None
    timeout: timedelta | None = None
    pending_timeout: timedelta | None = None
    approval: Approval | None = None
    semaphores: tuple[str, ...] = ()
    job: Mapping[str, object] = field(default_factory=dict)
    when: HandlerWhen = HandlerWhen.ALWAYS
    """Of an exit handler."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedDag(PlannedNode):
    """A DAG."""

    children: Mapping[str, Planned]
    """In the order of the document."""
    outputs: Mapping[str, str] = field(default_factory=dict)
    """Templates: `{{child.output}}`."""


Planned = PlannedStep | PlannedDag


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """All that a run is to do."""

    name: str
    entry_points: Mapping[str, Planned]
    """In the order of the document."""
    post_process: PlannedStep | None = None
    on_exit: tuple[PlannedStep, ...] = ()
    parallelism: int = 10
    strategy: Strategy = Strategy.FAIL_FAST
    main_fs: Mount | None = None
    semaphores: Mapping[str, int] = field(default_factory=dict)
    notify: tuple[Mapping[str, object], ...] = ()
