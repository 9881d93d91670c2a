"""What templates become when a node's turn comes. All functions are pure; what cannot be settled raises Unsettled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from pf_pipeline.conditions.evaluation import evaluate
from pf_pipeline.conditions.parsing import parse
from pf_pipeline.conditions.problems import ConditionError, ConditionSyntaxError
from pf_pipeline.documents.model import Value
from pf_pipeline.documents.templates import LOOP_ARGUMENT, PARENT, Ref, refs, replaced, whole
from pf_pipeline.documents.types import wrong_type
from pf_pipeline.plans.domain import Planned, PlannedDag
from pf_pipeline.plans.paths import SEPARATOR
from pf_pipeline.plans.values import Unsettled, list_of, text_of

LONGEST = 4 * 2**20
"""Characters that all templates of a node become together. Else a text could double at each step of a chain."""


class Beside(Protocol):
    """What a node can refer to of one that it depends on."""

    @property
    def parameters(self) -> Mapping[str, Value]: ...

    @property
    def results(self) -> Mapping[str, Value]: ...

    @property
    def outputs(self) -> Callable[[], Mapping[str, str]]: ...


class Around(Protocol):
    """What a node can refer to: of the DAG it is in, and of those that it depends on."""

    @property
    def parameters(self) -> Mapping[str, Value]: ...

    @property
    def inputs(self) -> Mapping[str, str]: ...

    @property
    def argument(self) -> Value | None: ...

    @property
    def siblings(self) -> Mapping[str, Beside]: ...


@dataclass(frozen=True, slots=True)
class Facts:
    """What the names of the system mean in a run."""

    run: str
    user: str

    def system(self, step: str, argument: Value | None) -> dict[str, str]:
        known = {"PF_RUN_ID": self.run, "PF_STEP_NAME": step, "PF_USER_NAME": self.user}
        return known if argument is None else {**known, LOOP_ARGUMENT: text_of(argument)}


def inputs(planned: Planned, around: Around) -> dict[str, str]:
    """Paths of input artifacts. Of a loop without iterations there are none."""
    told: dict[str, Mapping[str, str]] = {}
    return {name: _input(planned, name, text, around, told) for name, text in planned.inputs.items()}


def _input(planned: Planned, name: str, text: str, around: Around, told: dict[str, Mapping[str, str]]) -> str:
    ref = whole(text)
    if ref is not None and ref.component == PARENT and ref.name in around.inputs:
        return around.inputs[ref.name]
    if ref is not None and ref.component and ref.component in around.siblings:
        return _output(around.siblings, ref.component, ref.name, told)
    raise Unsettled(f"input artifact {name} of {planned.name} refers to {text}, which is not there")


def _output(siblings: Mapping[str, Beside], component: str, name: str, told: dict[str, Mapping[str, str]]) -> str:
    """A path of an output; `told` are those of siblings that have been asked, which takes its time."""
    if component not in told:
        told[component] = siblings[component].outputs()
    return told[component].get(name, "")


def parameters(planned: Planned, around: Around, facts: Facts, argument: Value | None) -> dict[str, Value]:
    """Own parameters of an iteration. Before the items of a loop are known, those about them are left out."""
    early = planned.loop is not None and argument is None
    scope = _Scope(planned, around, facts, argument)
    made: dict[str, Value] = {}
    for name, value in planned.parameters.items():
        if not isinstance(value, str) or "{{" not in value:
            made[name] = value
        elif not (early and (None, LOOP_ARGUMENT) in refs(value)):
            made[name] = _fitting(planned, name, scope.value(value))
    return made


def constants(planned: Planned) -> dict[str, Value]:
    """Own parameters that are the same in each iteration, and known even if there is none."""
    return {name: value for name, value in planned.parameters.items() if not isinstance(value, str) or not refs(value)}


def _fitting(planned: Planned, name: str, value: Value) -> Value:
    if wrong := wrong_type(value, planned.kinds.get(name)):
        raise Unsettled(f"parameter {name} of {planned.name} {wrong}")
    return value


@dataclass(slots=True)
class _Scope:
    """What parameters can refer to."""

    planned: Planned
    around: Around
    facts: Facts
    argument: Value | None
    left: int = LONGEST

    def value(self, text: str) -> Value:
        """A template that stands alone keeps its type."""
        ref = whole(text)
        return self._meant(ref) if ref else replaced(text, self._text)

    def _text(self, ref: Ref) -> str:
        text = text_of(self._meant(ref))
        self.left = _spent(self.left, text, self.planned)
        return text

    def _meant(self, ref: Ref) -> Value:
        if not ref.component:
            found = self._system(ref.name)
        elif ref.component == PARENT:
            is_argument = ref.name == LOOP_ARGUMENT
            found = self.around.argument if is_argument else self.around.parameters.get(ref.name)
        else:
            beside = self.around.siblings.get(ref.component)
            found = None if beside is None else _told(beside, ref.name)
        if found is None:
            raise Unsettled(f"{self.planned.name} refers to {ref}, which has no value")
        return found

    def _system(self, name: str) -> Value | None:
        if name == LOOP_ARGUMENT:
            return self.argument
        return self.facts.system(self.planned.name, None).get(name)


def _told(beside: Beside, name: str) -> Value | None:
    found = beside.parameters.get(name)
    return beside.results.get(name) if found is None else found


def _spent(left: int, text: str, planned: Planned) -> int:
    if len(text) > left:
        raise Unsettled(f"the templates of {planned.name} become more than {LONGEST // 2**20} MiB")
    return left - len(text)


def loop_file(planned: Planned, own: Mapping[str, str]) -> str:
    """The path of the file that holds the items of a loop; empty if they are known without one."""
    ref = whole(planned.loop) if isinstance(planned.loop, str) else None
    return _one_file(planned, own.get(ref.name, ""), ref.name) if ref else ""


def _one_file(planned: Planned, path: str, name: str) -> str:
    if SEPARATOR in path:
        raise Unsettled(f"input artifact {name} of {planned.name} is several, and its content is asked for")
    return path


def items(planned: Planned, values: Mapping[str, Value], own: Mapping[str, str], content: str) -> tuple[Value, ...]:
    """The items of a loop, from its own parameters, its input artifacts, and the content of its file."""
    what = f"loop_argument of {planned.name}"
    if isinstance(planned.loop, tuple):
        return planned.loop
    ref = whole(planned.loop or "")
    if ref is None:
        return list_of(planned.loop or "", what)
    if ref.name in own:
        return list_of(content, what) if content.strip() else ()
    value = values.get(ref.name)
    if isinstance(value, tuple):
        return value
    return list_of("" if value is None else text_of(value), what)


def condition_files(planned: Planned, own: Mapping[str, str]) -> tuple[str, ...]:
    """Paths of the files whose contents a condition is about."""
    found = {ref.name: own[ref.name] for ref in refs(planned.condition) if ref.name in own}
    return tuple(dict.fromkeys(_one_file(planned, path, name) for name, path in found.items() if path))


@dataclass(frozen=True, slots=True, kw_only=True)
class Own:
    """What the texts of a node can refer to, each by its name."""

    system: Mapping[str, str]
    values: Mapping[str, Value]
    inputs: Mapping[str, str] = field(default_factory=dict)
    """Texts that stand for artifacts."""
    outputs: Mapping[str, str] = field(default_factory=dict)

    def get(self, name: str) -> Value | None:
        if name in self.system:
            return self.system[name]
        if name in self.values:
            return self.values[name]
        return self.inputs.get(name, self.outputs.get(name))


@dataclass(slots=True)
class Filling:
    """Puts values in the places of the templates of a node."""

    planned: Planned
    own: Own
    left: int = LONGEST

    def text(self, text: str) -> str:
        return replaced(text, self._told)

    def texts(self, texts: Mapping[str, str]) -> dict[str, str]:
        return {name: replaced(text, self._told) for name, text in texts.items()}

    def json(self, value: object) -> object:
        """JSON with all its texts filled; a template that stands alone keeps its type."""
        if isinstance(value, Mapping):
            return {name: self.json(each) for name, each in value.items()}
        if isinstance(value, list | tuple):
            return [self.json(each) for each in value]
        if not isinstance(value, str):
            return value
        ref = whole(value)
        found = self.own.values.get(ref.name) if ref and not ref.component else None
        return self.text(value) if found is None else _as_json(found)

    def _told(self, ref: Ref) -> str:
        value = None if ref.component else self.own.get(ref.name)
        if value is None:
            raise Unsettled(f"{self.planned.name} refers to {ref}, which has no value")
        text = text_of(value)
        self.left = _spent(self.left, text, self.planned)
        return text


def _as_json(value: Value) -> object:
    return [_as_json(each) for each in value] if isinstance(value, tuple) else value


def with_templates(names: Mapping[str, str] | tuple[str, ...]) -> dict[str, str]:
    """Output artifacts as they stand in a command that is compared with others: paths hold the id of the run."""
    return {name: f"{{{{{name}}}}}" for name in names}


def condition(planned: Planned, own: Own) -> tuple[str, bool]:
    """The condition with all templates replaced, and whether it holds; own inputs are contents of files."""
    text = Filling(planned, own).text(planned.condition)
    try:
        return text, evaluate(parse(text))
    except (ConditionSyntaxError, ConditionError) as error:
        raise Unsettled(f"condition of {planned.name} is neither true nor false: {text!r}: {error}") from error


def dag_outputs(dag: PlannedDag, children: Mapping[str, Beside]) -> dict[str, str]:
    """Paths of the output artifacts of a DAG whose children are over."""
    told: dict[str, Mapping[str, str]] = {}
    found = {name: whole(text) for name, text in dag.outputs.items()}
    return {
        name: _output(children, ref.component, ref.name, told)
        for name, ref in found.items()
        if ref is not None and ref.component and ref.component in children
    }


def injected(
    system: Mapping[str, str], inputs_: Mapping[str, str], outputs: Mapping[str, str], results: Mapping[str, str]
) -> dict[str, str]:
    """Variables that the system adds to the environment of a step; paths are as the step sees them."""
    return {
        **system,
        **{f"PF_INPUT_ARTIFACT_{name.upper()}": path for name, path in inputs_.items()},
        **{f"PF_OUTPUT_ARTIFACT_{name.upper()}": path for name, path in outputs.items()},
        **{f"PF_RESULT_{name.upper()}": path for name, path in results.items()},
    }
