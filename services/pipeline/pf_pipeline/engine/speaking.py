"""The language, as whoever drives runs needs it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from pf_pipeline.documents.model import Value
from pf_pipeline.engine.core.words import Scope, Sibling, Turn, Words
from pf_pipeline.plans import paths, resolving
from pf_pipeline.plans.domain import Plan, Planned, PlannedDag, PlannedStep
from pf_pipeline.runs.domain import NodeWork, Order, Run
from pf_pipeline.runs.taking import Plans


class PipelineLanguage:
    """Fulfils `Language`."""

    def __init__(self, plans: Plans) -> None:
        self._plans = plans

    def plan(self, order: Order) -> Plan:
        """The plan of an order. It was accepted, so there is one."""
        return self._plans.plan(order)

    def words(self, run: Run, plan: Plan) -> Words:
        """How templates become values in a run."""
        return words_of(run, plan)


def words_of(run: Run, plan: Plan) -> RunWords:
    return RunWords(run.id, plan.name, facts_of(run), ground_of(run, plan))


def facts_of(run: Run) -> resolving.Facts:
    return resolving.Facts(run.id, run.owner)


def ground_of(run: Run, plan: Plan) -> paths.Ground:
    return paths.ground(plan.main_fs, run.order.filesystem_id)


@dataclass(frozen=True, slots=True)
class RunWords:
    """Fulfils `Words`."""

    run: str
    pipeline: str
    facts: resolving.Facts
    ground: paths.Ground

    def inputs(self, planned: Planned, scope: Scope) -> Mapping[str, str]:
        """Paths of input artifacts. Raises Unsettled."""
        return resolving.inputs(planned, scope)

    def parameters(self, planned: Planned, scope: Scope, argument: Value | None) -> Mapping[str, Value]:
        """Own parameters of an iteration. Raises Unsettled."""
        return resolving.parameters(planned, scope, self.facts, argument)

    def loop_file(self, planned: Planned, inputs: Mapping[str, str]) -> str:
        """The path of the file that holds the items of a loop; empty if they are known without one."""
        return resolving.loop_file(planned, inputs)

    def items(
        self, planned: Planned, parameters: Mapping[str, Value], inputs: Mapping[str, str], content: str
    ) -> tuple[Value, ...]:
        """The items of a loop. Raises Unsettled."""
        return resolving.items(planned, parameters, inputs, content)

    def condition_files(self, planned: Planned, inputs: Mapping[str, str]) -> tuple[str, ...]:
        """Paths of the files whose contents a condition is about."""
        return resolving.condition_files(planned, inputs)

    def condition(self, planned: Planned, turn: Turn, work: NodeWork, contents: Mapping[str, str]) -> tuple[str, bool]:
        """The condition with all templates replaced, and whether it holds. Raises Unsettled."""
        own = resolving.Own(
            system=self.facts.system(planned.name, turn.argument),
            values=work.parameters,
            inputs={name: contents.get(path, "") for name, path in work.inputs.items()},
        )
        return resolving.condition(planned, own)

    def step(self, planned: PlannedStep, turn: Turn, work: NodeWork) -> NodeWork:
        """All that a step is about, given its parameters and inputs. Raises Unsettled."""
        outputs = self._outputs(planned, turn)
        own = self._own(planned, turn, work, {name: self.ground.seen(path) for name, path in outputs.items()})
        filling = resolving.Filling(planned, own)
        job = filling.json(planned.job) if planned.job else {}
        return replace(
            work,
            command=filling.text(planned.command),
            env=filling.texts(planned.env),
            docker_env=planned.docker_env,
            outputs=outputs,
            result_files=self._result_files(planned, turn),
            job=job if isinstance(job, dict) else {},
        )

    def cached_command(self, planned: PlannedStep, turn: Turn, work: NodeWork) -> str:
        """The command as it is compared with those of other runs."""
        return self._compared(planned, turn, work).text(planned.command)

    def cached_job(self, planned: PlannedStep, turn: Turn, work: NodeWork) -> Mapping[str, object]:
        """The fields of the job as they are compared with those of other runs."""
        job = self._compared(planned, turn, work).json(planned.job)
        return job if isinstance(job, dict) else {}

    def _compared(self, planned: PlannedStep, turn: Turn, work: NodeWork) -> resolving.Filling:
        """Paths of artifacts hold the run, and what does not count is not to be seen: these stay templates."""
        ignored = {name: f"{{{{{name}}}}}" for name in planned.cache.ignore if name in work.parameters}
        own = resolving.Own(
            system=self.facts.system(planned.name, turn.argument),
            values={**work.parameters, **ignored},
            inputs=resolving.with_templates(tuple(work.inputs)),
            outputs=resolving.with_templates(planned.outputs),
        )
        return resolving.Filling(planned, own)

    def dag_outputs(self, planned: PlannedDag, siblings: Mapping[str, Sibling]) -> Mapping[str, str]:
        """Paths of the output artifacts of a DAG whose children are over."""
        return resolving.dag_outputs(planned, siblings)

    def _outputs(self, planned: PlannedStep, turn: Turn) -> dict[str, str]:
        if not planned.outputs:
            return {}
        folder = self.folder(planned, turn)
        return {name: f"{folder}/{name}" for name in planned.outputs}

    def _result_files(self, planned: PlannedStep, turn: Turn) -> dict[str, str]:
        folder = self.folder(planned, turn) if planned.results else ""
        return {name: paths.result_file(folder, name) for name in planned.results}

    def folder(self, planned: Planned, turn: Turn) -> str:
        """Where the artifacts of an iteration of a step lie."""
        sub_path = self.ground.sub_path
        return paths.folder(sub_path, self.run, self.pipeline, planned.name, turn.iteration, turn.runtime_name)

    def injected(self, planned: PlannedStep, turn: Turn, work: NodeWork) -> dict[str, str]:
        """Variables that the system adds to the environment of a step."""
        seen = self.ground.seen
        return resolving.injected(
            self.facts.system(planned.name, turn.argument),
            {name: seen(path) for name, path in work.inputs.items()},
            {name: seen(path) for name, path in work.outputs.items()},
            {name: seen(path) for name, path in work.result_files.items()},
        )

    def _own(self, planned: PlannedStep, turn: Turn, work: NodeWork, outputs: Mapping[str, str]) -> resolving.Own:
        return resolving.Own(
            system=self.facts.system(planned.name, turn.argument),
            values=work.parameters,
            inputs={name: self.ground.seen(path) for name, path in work.inputs.items()},
            outputs=outputs,
        )
