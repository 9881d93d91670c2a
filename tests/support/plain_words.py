"""A language without templates, for runs whose decisions are tried without the real one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pf_pipeline.documents.model import Value
from pf_pipeline.engine.core.words import Scope, Sibling, Turn, Unsettled
from pf_pipeline.plans.domain import Planned, PlannedDag, PlannedStep
from pf_pipeline.runs.domain import NodeWork


class PlainWords:
    """Fulfils `Words`: a condition is `yes`, `no` or `bad`, or `file`, whose content is one of these; a loop in a text
    is about the file of that name, each word of which is an item.
    """

    def inputs(self, planned: Planned, _scope: Scope) -> Mapping[str, str]:
        return dict(planned.inputs)

    def parameters(self, planned: Planned, _scope: Scope, _argument: Value | None) -> Mapping[str, Value]:
        return dict(planned.parameters)

    def loop_file(self, planned: Planned, _inputs: Mapping[str, str]) -> str:
        return planned.loop if isinstance(planned.loop, str) else ""

    def items(
        self, planned: Planned, _parameters: Mapping[str, Value], _inputs: Mapping[str, str], content: str
    ) -> tuple[Value, ...]:
        return tuple(content.split()) if isinstance(planned.loop, str) else planned.loop or ()

    def condition_files(self, planned: Planned, _inputs: Mapping[str, str]) -> tuple[str, ...]:
        return ("file",) if planned.condition == "file" else ()

    def condition(
        self, planned: Planned, _turn: Turn, _work: NodeWork, contents: Mapping[str, str]
    ) -> tuple[str, bool]:
        text = contents.get("file", planned.condition)
        if text == "bad":
            raise Unsettled("the condition makes no sense")
        return text, text == "yes"

    def step(self, planned: PlannedStep, turn: Turn, work: NodeWork) -> NodeWork:
        outputs = {name: f"{turn.runtime_name}/{name}" for name in planned.outputs}
        return replace(work, command=planned.command, outputs=outputs)

    def dag_outputs(self, planned: PlannedDag, siblings: Mapping[str, Sibling]) -> Mapping[str, str]:
        return {name: siblings[child].outputs()["out"] for name, child in planned.outputs.items()}
