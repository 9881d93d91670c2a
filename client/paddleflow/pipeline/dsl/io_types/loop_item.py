"""The item that an iteration is about."""

from __future__ import annotations

from typing import Any

from paddleflow.pipeline.dsl.io_types.owner import Owner
from paddleflow.pipeline.dsl.io_types.placeholder import mention


class LoopItem:
    """The item of an iteration of this component, got as ``component.loop_argument.item``."""

    def __init__(self, component: Owner) -> None:
        self.component: Any = component

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LoopItem) and other.component is self.component

    def __hash__(self) -> int:
        return id(self.component)

    def __str__(self) -> str:
        return mention("loop", self.component.full_name, "PF_LOOP_ARGUMENT")
