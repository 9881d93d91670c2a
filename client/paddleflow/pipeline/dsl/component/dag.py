"""DAGs: components that consist of others."""

from __future__ import annotations

from contextvars import Token
from types import TracebackType
from typing import Self

from paddleflow.pipeline.dsl.component.component import Component, Parent, close_dag, open_dag
from paddleflow.pipeline.dsl.names import refused


class DAG(Component):
    """Several components, as one.

    What is made inside of ``with`` belongs to it::

        with DAG(name="prepare", loop_argument=["a", "b"]) as prepare:
            ContainerStep(name="split", command=f"split {prepare.loop_argument.item}")

    What is used across its border is handed through: no inputs, outputs or parameters need to be declared. `condition`
    says whether it runs, `loop_argument` for what it is repeated, and `max_parallel` how many iterations run at once.
    """

    _type = "dag"

    def __init__(
        self,
        name: str,
        condition: str | None = None,
        loop_argument: object = None,
        *,
        max_parallel: int | None = None,
    ) -> None:
        self.entry_points: dict[str, Component] = {}
        self._tokens: list[Token[Parent | None]] = []
        super().__init__(name, condition=condition, loop_argument=loop_argument, max_parallel=max_parallel)

    def __enter__(self) -> Self:
        self._tokens.append(open_dag(self))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        close_dag(self._tokens.pop())

    def add(self, component: Component) -> None:
        """Takes the component in. What is made inside of ``with`` is taken in by itself."""
        self._expect_new(component.name)
        component.placed_in(self)
        self.entry_points[component.name] = component

    def rename(self, old: str, new: str) -> None:
        """A component in it is called otherwise from now on."""
        if old != new:
            self._expect_new(new)
        self.entry_points = {new if name == old else name: each for name, each in self.entry_points.items()}

    def _expect_new(self, name: str) -> None:
        if name in self.entry_points:
            raise refused(f"there are two components named {name} in {self.full_name}: give one of them another name")
