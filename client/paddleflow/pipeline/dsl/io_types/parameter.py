"""Values that components are given."""

from __future__ import annotations

from typing import Any

from paddleflow.pipeline.dsl.io_types.loop_item import LoopItem
from paddleflow.pipeline.dsl.io_types.owner import Owner
from paddleflow.pipeline.dsl.io_types.placeholder import Placeholder, mention
from paddleflow.pipeline.dsl.io_types.result import Result
from paddleflow.pipeline.dsl.io_types.values import converted, is_value, type_name
from paddleflow.pipeline.dsl.names import VARIABLE_NAME, check_name, refused


class Parameter:
    """A value that a step or DAG is given. One that was put into ``step.parameters`` can be handed to others, or be
    written into a text.

    `default` is its value unless the run says otherwise; `type` is what every value must be: str, int, float, list or
    "path". A default of another type is converted if that loses nothing.
    """

    def __init__(self, default: Any = None, type: Any = None) -> None:  # noqa: A002, ANN401 -- the original's words; a default is of any type
        self._type = None if type is None else type_name(type)
        self._default: object = None
        self._ref: object = None
        self._component: Owner | None = None
        self._name: str | None = None
        self._set_default(default)

    def _set_default(self, value: object) -> None:
        if value is not None and self._type is not None:
            value = converted(self._type, value)
        self._default = value

    def set_base_info(self, name: str, component: Owner, ref: object = None) -> None:
        """Says whose it is. Done for you when it is put among parameters."""
        what = f"a parameter of {component.name}"
        name = check_name(what, name, VARIABLE_NAME)
        if not (ref is None or is_value(ref) or isinstance(ref, Parameter | LoopItem | Result | Placeholder)):
            raise refused(
                f"{what}, {name}, cannot be {ref!r}: a text, number or list can, or a parameter of another component"
            )
        self._component, self._name, self._ref = component, name, ref

    @property
    def component(self) -> Any:  # noqa: ANN401 -- a Step, a DAG, or nothing yet: programs use it as what they know it is
        """The step or DAG whose parameter it is."""
        return self._component

    @property
    def name(self) -> str | None:
        """Its name there."""
        return self._name

    @property
    def type(self) -> str | None:
        """What its values must be, in the words of the language; None if that was not said."""
        return self._type

    @property
    def default(self) -> Any:  # noqa: ANN401 -- of any type
        """Its value unless the run says otherwise. Setting it replaces what it referred to."""
        return self._default

    @default.setter
    def default(self, value: Any) -> None:  # noqa: ANN401 -- of any type
        self._set_default(value)
        self._ref = None

    @property
    def ref(self) -> Any:  # noqa: ANN401 -- of any type
        """What it was set to: a value, or something of another component."""
        return self._ref

    def __copy__(self) -> Parameter:
        return self.__deepcopy__({})

    def __deepcopy__(self, _memo: dict[int, object]) -> Parameter:
        twin = Parameter(self._default, self._type)
        twin._component, twin._name, twin._ref = self._component, self._name, self._ref
        return twin

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Parameter):
            return False
        return (self.name, self.type, self.default, self.component, self.ref) == (
            other.name,
            other.type,
            other.default,
            other.component,
            other.ref,
        )

    # It changes, as when it is given to a component.
    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        if self._component is None or self._name is None:
            raise refused(
                "a parameter that belongs to no step or DAG cannot be written into a text: use step.parameters[…]"
            )
        return mention("parameter", self._component.full_name, self._name)
