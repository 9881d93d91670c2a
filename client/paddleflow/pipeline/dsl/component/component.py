"""What steps and DAGs have in common."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from contextvars import ContextVar, Token
from typing import Any, Protocol, Self

from paddleflow.pipeline.dsl.io_types import (
    Artifact,
    InputArtifactDict,
    LoopArgument,
    OutputArtifactDict,
    Parameter,
    ParameterDict,
)
from paddleflow.pipeline.dsl.names import COMPONENT_NAME, check_name, refused


class Parent(Protocol):
    """A DAG, to the components in it."""

    @property
    def full_name(self) -> str: ...

    def add(self, component: Component) -> None:
        """Takes the component in."""

    def rename(self, old: str, new: str) -> None:
        """A component in it is called otherwise from now on."""


# Which DAG is being written down, in this thread or task: what is made meanwhile belongs to it.
_OPEN: ContextVar[Parent | None] = ContextVar("paddleflow_open_dag", default=None)


def open_dag(dag: Parent | None) -> Token[Parent | None]:
    """From now on, what is made belongs to this DAG; to none if there is none."""
    return _OPEN.set(dag)


def close_dag(token: Token[Parent | None]) -> None:
    """From now on, what is made belongs to the DAG that was open before."""
    _OPEN.reset(token)


def register_component_handler(component: Component) -> None:
    """Puts the component into the DAG that is being written down, if one is."""
    if (dag := _OPEN.get()) is not None:
        dag.add(component)


class Component:
    """A step or a DAG."""

    _type = "component"

    def __init__(
        self,
        name: str,
        inputs: Mapping[str, Artifact] | None = None,
        outputs: Mapping[str, Artifact] | None = None,
        parameters: Mapping[str, Any] | None = None,
        condition: str | None = None,
        loop_argument: object = None,
        *,
        max_parallel: int | None = None,
    ) -> None:
        self._parent: Parent | None = None
        self._known_as: set[str] = set()
        self._dependences: set[str] = set()
        self._name = check_name(f"a {self.class_name()}", name, COMPONENT_NAME)
        self.loop_argument = loop_argument
        self.condition = condition
        self.max_parallel = max_parallel
        self._inputs, self._outputs, self._params = (
            InputArtifactDict(self),
            OutputArtifactDict(self),
            ParameterDict(self),
        )
        self._inputs.update(self._given("inputs", inputs))
        self._outputs.update(self._given("outputs", outputs))
        self._params.update(self._given("parameters", parameters))
        register_component_handler(self)

    def _given(self, field: str, values: object) -> dict[str, Any]:
        """What was given, as it can be put in; what belongs to nobody yet is copied, so that it can be given again."""
        if values is None:
            return {}
        if not isinstance(values, Mapping):
            raise refused(f"{field} of {self.name} has to be a dictionary, not {values!r}")
        return {name: copy.copy(value) if _is_free(value) else value for name, value in values.items()}

    @property
    def name(self) -> str:
        """Its name, among those of the DAG it is in."""
        return self._name

    @name.setter
    def name(self, name: str) -> None:
        check_name(f"a {self.class_name()}", name, COMPONENT_NAME)
        if self._parent is not None:
            self._parent.rename(self._name, name)
        self._name = name

    @property
    def full_name(self) -> str:
        """Its name after those of the DAGs it is in, joined by dots."""
        full = f"{self._parent.full_name}.{self._name}" if self._parent is not None else self._name
        # Texts may hold it from now on, also if it is renamed or put into a DAG later.
        self._known_as.add(full)
        return full

    @property
    def known_as(self) -> frozenset[str]:
        """The full names it was asked for."""
        return frozenset(self._known_as)

    @property
    def parent(self) -> Any:  # noqa: ANN401 -- a DAG, which knows this class
        """The DAG it is in."""
        return self._parent

    def placed_in(self, parent: Parent) -> None:
        """Says in which DAG it is; done by that DAG."""
        if self._parent is not None:
            raise refused(f"{self.name} is in the DAG {self._parent.full_name} already")
        self._parent = parent

    @property
    def type(self) -> str:
        """What it is: "step" or "dag"."""
        return self._type

    @property
    def inputs(self) -> InputArtifactDict:
        """Its input artifacts by name."""
        return self._inputs

    @property
    def outputs(self) -> OutputArtifactDict:
        """Its output artifacts by name."""
        return self._outputs

    @property
    def parameters(self) -> ParameterDict:
        """Its parameters by name."""
        return self._params

    @property
    def loop_argument(self) -> Any:  # noqa: ANN401 -- a LoopArgument is got, what one is made of is set
        """What it is repeated for; `loop_argument.item` is the item of an iteration."""
        return self._loop_argument

    @loop_argument.setter
    def loop_argument(self, argument: Any) -> None:  # noqa: ANN401 -- what LoopArgument takes
        self._loop_argument = None if argument is None else LoopArgument(argument, self)

    @property
    def condition(self) -> str | None:
        """Whether it runs at all, as a comparison."""
        return self._condition

    @condition.setter
    def condition(self, condition: str | None) -> None:
        if condition is not None and not isinstance(condition, str):
            raise refused(f"the condition of {self.name} has to be text such as '{{{{epoch}}}} > 3', not {condition!r}")
        self._condition = condition

    @property
    def dependences(self) -> frozenset[str]:
        """The full names of those it was put after."""
        return frozenset(self._dependences)

    def after(self, *upstream: object) -> Self:
        """Lets it begin only when these have ended. Whoever uses something of another component is after it anyway."""
        if not upstream:
            raise refused(f"{self.name}.after() names no step or DAG: give it at least one")
        for each in upstream:
            if not isinstance(each, Component):
                raise refused(f"{self.name} cannot be after {each!r}, which is neither a step nor a DAG")
            self._dependences.add(each.full_name)
        return self

    def class_name(self) -> str:
        """The name of its class."""
        return type(self).__name__


def _is_free(value: object) -> bool:
    return isinstance(value, Artifact | Parameter) and value.component is None
