"""Components as the language writes them, with their keys in the order people write them in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from paddleflow.common.exception import PaddleFlowSDKException
from paddleflow.pipeline.dsl.compiler.order import ordered
from paddleflow.pipeline.dsl.compiler.plain import plain
from paddleflow.pipeline.dsl.compiler.reading import Reading
from paddleflow.pipeline.dsl.compiler.tree import Unwired
from paddleflow.pipeline.dsl.compiler.wires import Wires
from paddleflow.pipeline.dsl.component import DAG, Component, ContainerStep, Step
from paddleflow.pipeline.dsl.names import refused
from paddleflow.pipeline.dsl.options import Approval, CacheOptions, Retry, compiled, extra_filesystems

Document = dict[str, object]


class Rendering:
    """Writes down what was read; adds to its problems what cannot be written."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    def components(self, dag: DAG) -> Document:
        """The components in the DAG, by name."""
        deps = {name: self._wires(child).deps for name, child in dag.entry_points.items()}
        place = {name: number for number, name in enumerate(deps)}
        return {
            name: self.component(dag.entry_points[name], sorted(deps[name], key=place.__getitem__))
            for name in self._ordered(dag, deps)
        }

    def _ordered(self, dag: DAG, deps: Mapping[str, set[str]]) -> list[str]:
        try:
            return ordered(deps)
        except Unwired as why:
            self._problem(dag, str(why))
            return list(deps)

    def component(self, component: Component, deps: Sequence[str] = ()) -> Document:
        """The component, which comes after these siblings."""
        wires = self._wires(component)
        said: Document = {"deps": ",".join(deps), "max_parallel": component.max_parallel}
        said |= {"condition": wires.condition, "loop_argument": wires.loop}
        try:
            said |= self._dag(component, wires) if isinstance(component, DAG) else _step(component, wires)
            return {key: _written(key, said[key]) for key in _KEYS if _is_said(key, said.get(key))}
        except PaddleFlowSDKException as error:
            self._problem(component, error.message or "")
            return {}

    def _dag(self, dag: DAG, wires: Wires) -> Document:
        if not dag.entry_points:
            raise refused("there is nothing in it: make its steps inside of `with`")
        artifacts = {"input": wires.inputs, "output": wires.outputs}
        return {
            "parameters": wires.parameters,
            "artifacts": {key: value for key, value in artifacts.items() if value},
            "entry_points": self.components(dag),
        }

    def _wires(self, component: Component) -> Wires:
        return self._reading.wiring.of(component)

    def _problem(self, component: Component, what: str) -> None:
        tree = self._reading.wiring.tree
        top = component is tree.root and isinstance(component, DAG)
        where = "pipeline" if top else f"{component.type} {tree.path(component)}"
        self._reading.problems.append(f"{where}: {what}")


_KEYS = (
    "deps",
    "docker_env",
    "command",
    "parameters",
    "env",
    "artifacts",
    "results",
    "condition",
    "loop_argument",
    "max_parallel",
    "approval",
    "retry",
    "timeout",
    "pending_timeout",
    "semaphores",
    "cache",
    "extra_fs",
    "job",
    "entry_points",
)


def _written(key: str, value: object) -> object:
    # Components are written already, each by itself.
    return value if key == "entry_points" else plain(value)


def _is_said(key: str, value: object) -> bool:
    # A loop over nothing is something else than no loop.
    return value not in (None, "", [], {}) or (key == "loop_argument" and value == [])


def _step(step: Component, wires: Wires) -> Document:
    artifacts: Mapping[str, object] = {"input": wires.inputs, "output": list(step.outputs)}
    said: Document = {
        "parameters": wires.parameters,
        "artifacts": {key: value for key, value in artifacts.items() if value},
    }
    if isinstance(step, Step):
        said["cache"] = compiled(step.cache_options, CacheOptions)
        said["extra_fs"] = [each.compile() for each in extra_filesystems("the step", step.extra_fs or [])]
    return said | _container(step, wires) if isinstance(step, ContainerStep) else said


def _container(step: ContainerStep, wires: Wires) -> Document:
    approval = compiled(step.approval, Approval)
    return {
        "docker_env": step.docker_env,
        "command": wires.command,
        "env": wires.env,
        "results": {name: result.compile() for name, result in step.results.items()},
        "approval": {"users": []} if approval == {} else approval,
        "retry": compiled(step.retry, Retry),
        "timeout": step.timeout,
        "pending_timeout": step.pending_timeout,
        "semaphores": list(step.semaphores),
        "job": wires.job,
    }
