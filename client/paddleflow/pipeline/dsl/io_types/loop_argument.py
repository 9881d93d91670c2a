"""What a component is repeated for."""

from __future__ import annotations

import json
import re
from typing import Any

from paddleflow.pipeline.dsl.io_types.artifact import Artifact
from paddleflow.pipeline.dsl.io_types.loop_item import LoopItem
from paddleflow.pipeline.dsl.io_types.owner import Owner
from paddleflow.pipeline.dsl.io_types.parameter import Parameter
from paddleflow.pipeline.dsl.io_types.placeholder import MENTION
from paddleflow.pipeline.dsl.io_types.result import Result
from paddleflow.pipeline.dsl.io_types.values import is_value
from paddleflow.pipeline.dsl.names import refused

_TEMPLATE = re.compile(r"\{\{\s*[A-Za-z_][A-Za-z0-9_.-]*\s*\}\}")


class LoopArgument:
    """What a component is repeated for: a list, JSON of a list, or a parameter or artifact that holds one.

    `item` stands for the item of an iteration, in texts and as a parameter.
    """

    def __init__(self, argument: object, component: Owner) -> None:
        self.component: Any = component
        self.item = LoopItem(component)
        self._argument = argument
        if wrong := _objection(argument, self.item):
            raise refused(f"{component.name} cannot be repeated for {argument!r}: {wrong}")

    @property
    def argument(self) -> Any:  # noqa: ANN401 -- of any type
        """What it was made of."""
        return self._argument


def _objection(argument: object, own: LoopItem) -> str:
    """Why this is nothing to be repeated for; empty if it is."""
    match argument:
        case LoopItem() if argument == own:
            return "that is the item of its own loop"
        case Artifact() | Parameter() | Result() if argument.component is None:
            return "that belongs to no step or DAG"
        case Artifact() | Parameter() | Result() | LoopItem():
            return ""
        case str():
            return _objection_to_text(argument, own)
        case list():
            return _objection_to_items(argument)
    return "a list can be given, JSON of a list, a parameter or an artifact"


def _objection_to_text(text: str, own: LoopItem) -> str:
    if text == str(own):
        return "that is the item of its own loop"
    if MENTION.fullmatch(text) or _TEMPLATE.fullmatch(text):
        return ""
    if MENTION.search(text):
        return "a parameter or an artifact has to stand alone"
    try:
        items = json.loads(text)
    except ValueError as error:
        return f"the text is neither a template nor JSON of a list ({error})"
    return _objection_to_items(items) if isinstance(items, list) else "the text is JSON, but not of a list"


def _objection_to_items(items: list[object]) -> str:
    wrong = [item for item in items if not is_value(item)]
    return f"the item {wrong[0]!r} is neither text nor number nor list" if wrong else ""
