"""The language for a run that is only thought through: what nobody can know yet stays as it is written.

What is not known is a text with a template in it, `{{step.result}}`; so is whatever it becomes a part of. It is found
by its braces, so a text that has such of its own counts as not known too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pf_pipeline.documents.model import Value
from pf_pipeline.documents.templates import LOOP_ARGUMENT, refs
from pf_pipeline.engine.core.words import Scope, Sibling, Turn, Words
from pf_pipeline.plans.domain import Planned, PlannedDag, PlannedStep
from pf_pipeline.runs.domain import NodeWork

RUN_ID = "PF_RUN_ID"
RUN = "{{PF_RUN_ID}}"
"""The id of the run, which it gets when it is made."""
ITEM = f"{{{{{LOOP_ARGUMENT}}}}}"
"""An item of a loop of which nobody knows what it is repeated for."""
CONTENT = "{{}}"
"""The content of a file that is not there yet."""
MOST_ITERATIONS = 100
"""Of one loop. That of the others differs from them in its item alone."""
MOST_NODES = 2000
"""Of all loops together, as far as they have more than one iteration."""


def is_known(value: Value | None) -> bool:
    """False if a value depends on what the run does. The id of the run is as good as known: nothing hangs on it."""
    match value:
        case str():
            return "{{" not in value.replace(RUN, "")
        case tuple():
            return all(map(is_known, value))
    return True


@dataclass(slots=True)
class DryWords:
    """Fulfils `Words`, over those of a real run."""

    words: Words
    left: int = MOST_NODES
    lengths: list[int] = field(default_factory=list)
    """How many items loops have in truth, in the order in which that was asked."""

    def inputs(self, planned: Planned, scope: Scope) -> Mapping[str, str]:
        return self.words.inputs(planned, scope)

    def parameters(self, planned: Planned, scope: Scope, argument: Value | None) -> Mapping[str, Value]:
        """A parameter that must have a type stays as it is written until its value is known."""
        found: dict[str, Value] = {}
        for name, value in planned.parameters.items():
            if not isinstance(value, str) or "{{" not in value:
                found[name] = value
                continue
            single = replace(planned, parameters={name: value}, kinds={})
            for told in self.words.parameters(single, scope, argument).values():
                typed = replace(single, kinds=planned.kinds)
                found.update(self.words.parameters(typed, scope, argument) if is_known(told) else {name: told})
        return found

    def loop_file(self, planned: Planned, inputs: Mapping[str, str]) -> str:
        return self.words.loop_file(planned, inputs)

    def items(
        self, planned: Planned, parameters: Mapping[str, Value], inputs: Mapping[str, str], content: str
    ) -> tuple[Value, ...]:
        """The first items of a loop; one that stands for all if they are not known."""
        names = [ref.name for ref in refs(planned.loop)] if isinstance(planned.loop, str) else []
        if not is_known(content) or not all(is_known(parameters.get(name)) for name in names):
            self.lengths.append(0)
            return (ITEM,)
        found = self.words.items(planned, parameters, inputs, content)
        self.lengths.append(len(found))
        cost = _size(planned)
        shown = found[: max(1, min(MOST_ITERATIONS, self.left // cost))]
        self.left -= max(0, len(shown) - 1) * cost
        return shown

    def condition_files(self, planned: Planned, inputs: Mapping[str, str]) -> tuple[str, ...]:
        return self.words.condition_files(planned, inputs)

    def condition(self, planned: Planned, turn: Turn, work: NodeWork, contents: Mapping[str, str]) -> tuple[str, bool]:
        """A condition of which nobody can know whether it holds is taken to hold."""
        for ref in refs(planned.condition):
            value = turn.argument if ref.name == LOOP_ARGUMENT else work.parameters.get(ref.name)
            if ref.name == RUN_ID or work.inputs.get(ref.name) or not is_known(value):
                return planned.condition, True
        return self.words.condition(planned, turn, work, contents)

    def step(self, planned: PlannedStep, turn: Turn, work: NodeWork) -> NodeWork:
        return self.words.step(planned, turn, work)

    def dag_outputs(self, planned: PlannedDag, siblings: Mapping[str, Sibling]) -> Mapping[str, str]:
        return self.words.dag_outputs(planned, siblings)


def _size(planned: Planned) -> int:
    """Nodes of one iteration, loops in it counted once."""
    inside = planned.children.values() if isinstance(planned, PlannedDag) else ()
    return 1 + sum(map(_size, inside))
