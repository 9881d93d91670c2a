"""What the program says of each component, followed to where values come from."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from paddleflow.pipeline.dsl.compiler.tree import ARTIFACTS, Kind, Source, Tree, Unwired, refers
from paddleflow.pipeline.dsl.compiler.wires import Wires, own_names
from paddleflow.pipeline.dsl.compiler.wiring import Wiring
from paddleflow.pipeline.dsl.component import DAG, Component, ContainerStep
from paddleflow.pipeline.dsl.io_types import MENTION, Parameter, mentioned

Written = Callable[[Source], str]
"""What is written in place of a mention of this value."""


class Reading:
    """Goes through the components of a tree; collects what is wrong with them."""

    def __init__(self, tree: Tree, env: Mapping[str, str]) -> None:
        self.wiring = Wiring(tree)
        self.problems: list[str] = []
        self._tree = tree
        self._env = env

    def read(self, *, root: bool) -> None:
        """Fills the wires of all components; of the root only if it is one of those that are written."""
        for component in self._tree.components:
            if root or component is not self._tree.root:
                self._component(component)

    def _component(self, component: Component) -> None:
        wires = self.wiring.of(component)
        self._names(component)
        for name, parameter in component.parameters.items():
            with self._part(component, f"the parameter {name}"):
                wires.parameters[name] = self._parameter(component, parameter)
        for name, artifact in component.inputs.items():
            with self._part(component, f"the input artifact {name}"):
                wires.inputs[name] = self.wiring.template(component, self._tree.source_of(artifact))
        for full_name in sorted(component.dependences):
            with self._part(component, "it"):
                self.wiring.put_after(component, self._tree.named(full_name))
        self._own(component, wires)
        self._repetition(component, wires)

    def _own(self, component: Component, wires: Wires) -> None:
        if isinstance(component, DAG):
            for name, artifact in component.outputs.items():
                with self._part(component, f"the output artifact {name}"):
                    wires.outputs[name] = self.wiring.handed(component, self._tree.source_of(artifact))
        elif isinstance(component, ContainerStep):
            self._texts(component, wires)

    def _repetition(self, component: Component, wires: Wires) -> None:
        with self._part(component, "the condition"):
            wires.condition = component.condition and self._text(component, component.condition, self._before)
        with self._part(component, "the loop argument"):
            wires.loop = self._loop(component)

    def _texts(self, step: ContainerStep, wires: Wires) -> None:
        with self._part(step, "the command"):
            wires.command = step.command and self._text(step, step.command, self._anything)
        for name, text in {**self._env, **step.env}.items():
            with self._part(step, f"the variable {name}"):
                wires.env[name] = self._text(step, text, self._no_artifact)
        with self._part(step, "the job"):
            wires.job = step.job and self._deep(step, step.job)

    def _names(self, component: Component) -> None:
        """Names that differ in nothing but case would become the same variable."""
        seen: dict[str, tuple[str, str]] = {}
        for name, kind in own_names(component):
            other, other_kind = seen.setdefault(name.lower(), (name, kind))
            if (other, other_kind) != (name, kind):
                self._problem(component, f"the {other_kind} {other} and the {kind} {name} need different names")

    def _parameter(self, component: Component, parameter: Parameter) -> object:
        if parameter.ref is not None:
            return self._value(component, parameter.ref)
        default = self._value(component, parameter.default)
        if parameter.type is not None:
            return {"type": parameter.type} if default is None else {"type": parameter.type, "default": default}
        if default is not None:
            return default
        raise Unwired("has neither a value nor a type: give it one, as in Parameter(default=3) or Parameter(type=int)")

    def _value(self, component: Component, value: object) -> object:
        if refers(value):
            return self.wiring.template(component, self._tree.source(value))
        if isinstance(value, str):
            return self._replaced(value, lambda source: self.wiring.template(component, _no_file(source)))
        return value

    def _loop(self, component: Component) -> object:
        if component.loop_argument is None:
            return None
        argument = component.loop_argument.argument
        if refers(argument):
            return f"{{{{{self._before(component, self._tree.source(argument))}}}}}"
        return self._text(component, argument, self._before) if isinstance(argument, str) else argument

    def _anything(self, component: Component, source: Source) -> str:
        return self.wiring.own_name(component, source)

    def _no_artifact(self, component: Component, source: Source) -> str:
        return self.wiring.own_name(component, _no_file(source))

    def _before(self, component: Component, source: Source) -> str:
        """How the component calls a value that is known before it runs."""
        if source.component is component and source.kind is Kind.OUTPUT:
            raise Unwired(f"refers to its own output artifact {source.name}, which is known only when it has ended")
        return self.wiring.own_name(component, source)

    def _text(self, component: Component, text: str, name: Callable[[Component, Source], str]) -> str:
        return self._replaced(text, lambda source: f"{{{{{name(component, source)}}}}}")

    def _replaced(self, text: str, written: Written) -> str:
        """The text, with templates of the language in place of its mentions."""

        def replace(found: re.Match[str]) -> str:
            return written(self._tree.source(mentioned(found)))

        return MENTION.sub(replace, text)

    def _deep(self, step: ContainerStep, value: object) -> object:
        match value:
            case str():
                return self._text(step, value, self._anything)
            case Mapping():
                return {key: self._deep(step, each) for key, each in value.items()}
            case list() | tuple():
                return [self._deep(step, each) for each in value]
        return value

    @contextmanager
    def _part(self, component: Component, part: str) -> Iterator[None]:
        try:
            yield
        except Unwired as why:
            self._problem(component, f"{part} {why}")

    def _problem(self, component: Component, what: str) -> None:
        self.problems.append(f"{component.type} {self._tree.path(component)}: {what}")


def _no_file(source: Source) -> Source:
    if source.kind in ARTIFACTS:
        raise Unwired(
            f"refers to the {source.kind} {source.name} of {source.component.name}: artifacts are used in commands,"
            " conditions and loops, and among inputs"
        )
    return source
