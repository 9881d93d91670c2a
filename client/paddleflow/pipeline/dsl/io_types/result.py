"""Small values that steps find out."""

from __future__ import annotations

from typing import Any

from paddleflow.pipeline.dsl.io_types.owner import Owner
from paddleflow.pipeline.dsl.io_types.placeholder import mention
from paddleflow.pipeline.dsl.io_types.values import RESULT_TYPES
from paddleflow.pipeline.dsl.names import VARIABLE_NAME, check_name, refused

_NAMES: dict[object, str] = {str: "string", int: "int", float: "float", bool: "bool", list: "list"}


class Result:
    """A small value that a step writes to the file ``$PF_RESULT_<NAME>``. As ``step.results["rows"]`` it is used like a
    parameter of that step.

    `type` is str, int, float, bool or list; `default` is its value if the step was skipped or wrote none.
    """

    def __init__(self, type: Any = str, default: Any = None) -> None:  # noqa: A002, ANN401 -- as of a parameter
        self.type = _NAMES.get(type, type) if type in _NAMES or isinstance(type, str) else None
        if self.type not in RESULT_TYPES:
            raise refused(f"{type!r} is no type of a result: one of str, int, float, bool and list is")
        self.default = default
        self._component: Owner | None = None
        self._name: str | None = None

    def given_to(self, name: str, component: Owner) -> Result:
        """The same as a result of this component."""
        twin = Result(self.type, self.default)
        twin._name = check_name(f"a result of {component.name}", name, VARIABLE_NAME)
        twin._component = component
        return twin

    @property
    def component(self) -> Any:  # noqa: ANN401 -- a Step or nothing yet
        """The step that writes it."""
        return self._component

    @property
    def name(self) -> str | None:
        """Its name there."""
        return self._name

    def compile(self) -> object:
        """What the language says of it."""
        return self.type if self.default is None else {"type": self.type, "default": self.default}

    def __str__(self) -> str:
        if self._component is None or self._name is None:
            raise refused("a result that belongs to no step cannot be written into a text: use step.results[…]")
        return mention("result", self._component.full_name, self._name)
