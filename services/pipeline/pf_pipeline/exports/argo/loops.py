"""Loops in Argo, which has no numbers of iterations: items that are known carry theirs, others are taken by number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pf_pipeline.documents.model import Value
from pf_pipeline.documents.templates import whole
from pf_pipeline.exports.argo.texts import ITEM, Siblings, literal
from pf_pipeline.plans.domain import Planned
from pf_pipeline.plans.values import Unsettled, list_of, text_of


@dataclass(frozen=True, slots=True)
class Loops:
    """The loops of one level."""

    siblings: Siblings

    def static(self, node: Planned) -> tuple[Value, ...] | None:
        """The items, if they are known beforehand."""
        if isinstance(node.loop, tuple):
            return node.loop
        ref = whole(node.loop or "")
        if ref is None:
            return self._listed(node, node.loop or "")
        if ref.name not in node.parameters:
            return None
        value = self.siblings.static(node.name, ref.name)
        return value if isinstance(value, tuple) or value is None else self._listed(node, text_of(value))

    def _listed(self, node: Planned, text: str) -> tuple[Value, ...]:
        try:
            return list_of(text, f"loop_argument of {node.name}")
        except Unsettled as error:
            self.siblings.report.refuse(self._path(node), str(error))
            return ()

    def count(self, node: Planned) -> str:
        """How many items there are, as an expression."""
        return f"len({self._items(node)})"

    def _items(self, node: Planned) -> str:
        """The items, as an expression."""
        name = whole(node.loop or "" if isinstance(node.loop, str) else "")
        if name and name.name in node.inputs:
            return f"fromJSON(tasks['{self.reader(node, name.name)}'].outputs.parameters.text)"
        value = self.siblings.value(node.name, name.name, "") if name else ""
        if not (value.startswith("{{") and value.endswith("}}") and value.count("{{") == 1):
            self.siblings.report.refuse(self._path(node), "is put together from several parts as it runs")
        return f"fromJSON({_variable(value[2:-2])})"

    def reader(self, node: Planned, name: str) -> str:
        """The task that reads the content of an input artifact of a node."""
        return f"{self.siblings.tasks[node.name]}-reads-{name.replace('_', '-').strip('-')}"

    def fields(self, node: Planned) -> dict[str, Any]:
        """What makes a task of Argo a loop."""
        if node.loop is None:
            return {}
        items = self.static(node)
        if items is None:
            return {"withSequence": {"count": f"{{{{={self.count(node)}}}}}"}}
        where = self._path(node)
        told = [literal(text_of(item), where, self.siblings.report) for item in items]
        return {"withItems": [{"seq": str(at), "value": text} for at, text in enumerate(told)]}

    def number(self, node: Planned) -> str:
        """The number of the iteration."""
        if node.loop is None:
            return "0"
        return "{{item.seq}}" if self.static(node) is not None else "{{item}}"

    def item(self, node: Planned) -> str:
        """What it is for."""
        if node.loop is None:
            return ""
        return ITEM if self.static(node) is not None else f"{{{{=string({self._items(node)}[asInt(item)])}}}}"

    def _path(self, node: Planned) -> str:
        return f"{self.siblings.path}.{node.name}.loop_argument"


def _variable(tag: str) -> str:
    """A template of Argo as a variable of its expressions."""
    first, *rest = tag.split(".")
    return first + "".join(f"['{part}']" for part in rest)
