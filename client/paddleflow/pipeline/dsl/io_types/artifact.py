"""Files and folders that steps write and read."""

from __future__ import annotations

from typing import Any

from paddleflow.pipeline.dsl.io_types.owner import Owner
from paddleflow.pipeline.dsl.io_types.placeholder import mention
from paddleflow.pipeline.dsl.names import VARIABLE_NAME, check_name, refused


class Artifact:
    """A file or folder. ``Artifact()`` among the outputs of a step says that it writes one; as
    ``step.outputs["model"]`` it is handed to whoever reads it.
    """

    ref: object
    """Where it comes from, if its component does not make it: an artifact of another component."""

    def __init__(self) -> None:
        self.ref = None
        self._component: Owner | None = None
        self._name: str | None = None

    def set_base_info(self, name: str, component: Owner, ref: object = None) -> None:
        """Says whose it is. Done for you when it is put among inputs or outputs."""
        self._name = check_name(f"an artifact of {component.name}", name, VARIABLE_NAME)
        self._component, self.ref = component, ref

    @property
    def component(self) -> Any:  # noqa: ANN401 -- a Step, a DAG, or nothing yet: programs use it as what they know it is
        """The step or DAG whose input or output it is."""
        return self._component

    @property
    def name(self) -> str | None:
        """Its name there."""
        return self._name

    def __copy__(self) -> Artifact:
        return self.__deepcopy__({})

    def __deepcopy__(self, _memo: dict[int, object]) -> Artifact:
        twin = Artifact()
        twin._component, twin._name, twin.ref = self._component, self._name, self.ref
        return twin

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Artifact):
            return False
        return (self.name, self.component, self.ref) == (other.name, other.component, other.ref)

    # It changes, as when it is given to a component.
    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        if self._component is None or self._name is None:
            raise refused(
                "an artifact that belongs to no step or DAG cannot be written into a text: use step.outputs[…]"
            )
        return mention("artifact", self._component.full_name, self._name)
