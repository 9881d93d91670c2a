"""Who may refer to what.

| in | may stand |
|---|---|
| parameters | names of the system, parameters and results of direct dependencies, parameters of the parent |
| input artifacts | exactly one output artifact of a dependency, or one input artifact of the parent |
| env | names of the system, own parameters |
| command, job | names of the system, own parameters, own artifacts |
| condition | names of the system, own parameters, own input artifacts |
| loop_argument | exactly one own parameter or input artifact |
| output artifacts of a DAG | exactly one output artifact of a child |
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping

from paddleflow.documents.reader import shown
from pf_pipeline.conditions.parsing import parse
from pf_pipeline.conditions.problems import ConditionSyntaxError
from pf_pipeline.documents.checks import last_step
from pf_pipeline.documents.findings import Finding, Path
from pf_pipeline.documents.hints import did_you_mean
from pf_pipeline.documents.links import Scope, check_links, no_loop
from pf_pipeline.documents.model import Dag, Document, Node, Reference, Step, Value
from pf_pipeline.documents.templates import LOOP_ARGUMENT, REMOVED, SYSTEM, Ref, refs, replaced, whole
from pf_pipeline.documents.types import has_template


def check_templates(document: Document, used: Collection[str]) -> Iterator[Finding]:
    """All that templates refer to in vain, in a document without references; `used` are components it referred to."""
    for name, text in document.env.items():
        yield from _own_texts(text, ("env", name), SYSTEM, "env of the document", "variables of the system only")
    yield from _level(document.entry_points, ("entry_points",), Scope(document.entry_points))
    unused = {name: node for name, node in document.components.items() if name not in used}
    yield from _level(unused, ("components",), Scope({}, open=True))
    for name, step in document.post_process.items():
        yield from _last(step, ("post_process", name))
    for name, handler in document.on_exit.items():
        yield from _last(handler.step, ("on_exit", name))


def _last(step: Step | Reference, path: Path) -> Iterator[Finding]:
    if isinstance(step, Reference):
        return
    if step.reference:
        yield from last_step(step, path)
    yield from _component(step, path, Scope({}))


def _level(nodes: Mapping[str, Node], path: Path, scope: Scope) -> Iterator[Finding]:
    for name, node in nodes.items():
        if isinstance(node, Reference):
            continue
        place = (*path, name)
        yield from _component(node, place, scope)
        if isinstance(node, Dag):
            yield from _level(node.children, (*place, "entry_points"), Scope(node.children, node))


def _component(node: Step | Dag, path: Path, scope: Scope) -> Iterator[Finding]:
    yield from check_links(node, path, scope)
    if node.condition:
        known = {*SYSTEM, *node.parameters, *node.inputs}
        yield from _texts(node, node.condition, (*path, "condition"), known, "condition", _SEES_CONDITION)
        yield from _unparsable(node, (*path, "condition"))
    if node.loop is not None:
        yield from _loop(node, (*path, "loop_argument"))
    if isinstance(node, Step):
        yield from _step(node, path)


def _unparsable(node: Step | Dag, path: Path) -> Iterator[Finding]:
    """As far as that is known before templates are replaced: each counts as a word."""
    try:
        parse(replaced(node.condition, lambda _: "x"))
    except ConditionSyntaxError as error:
        yield Finding(path, f"condition of {node.name} is no expression: {error}")


_SEES_CONDITION = "own parameters, own input artifacts and variables of the system only"
_SEES_COMMAND = "own parameters, own artifacts and variables of the system only"
_SEES_ENV = "own parameters and variables of the system only"


def _step(step: Step, path: Path) -> Iterator[Finding]:
    if step.env:
        known = {*SYSTEM, *step.parameters}
        for name, text in step.env.items():
            yield from _texts(step, text, (*path, "env", name), known, f"variable {name}", _SEES_ENV)
    known = {*SYSTEM, *step.parameters, *step.inputs, *step.outputs}
    yield from _texts(step, step.command, (*path, "command"), known, "command", _SEES_COMMAND)
    for place, text in _json_texts(step.job, (*path, "job")):
        yield from _texts(step, text, place, known, "job", _SEES_COMMAND)


def _json_texts(value: object, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for name, each in value.items():
            yield from _json_texts(each, (*path, str(name)))
    elif isinstance(value, list | tuple):
        for at, each in enumerate(value):
            yield from _json_texts(each, (*path, at))


def _texts(node: Step | Dag, text: str, path: Path, known: Collection[str], what: str, sees: str) -> Iterator[Finding]:
    yield from _own_texts(text, path, known, f"{what} of {node.name}", sees)
    if node.loop is None and any(ref == (None, LOOP_ARGUMENT) for ref in refs(text)):
        yield Finding(path, no_loop(node))


def _own_texts(text: str, path: Path, known: Collection[str], what: str, sees: str) -> Iterator[Finding]:
    for ref in refs(text):
        if ref.component is not None or ref.name not in known:
            yield Finding(path, f"{what} refers to {ref}, and sees {sees}{_hint(ref, known)}")


def _hint(ref: Ref, known: Collection[str]) -> str:
    if ref.name in REMOVED:
        return f"; {ref.name} does not exist any more"
    return did_you_mean(ref.name, known) if ref.component is None else ""


def _loop(node: Step | Dag, path: Path) -> Iterator[Finding]:
    what = f"loop_argument of {node.name}"
    if isinstance(node.loop, tuple):
        yield from _items(node.loop, path, what)
        return
    text = node.loop or ""
    if refs(text):
        yield from _loop_template(node, text, path, what)
        return
    try:
        items = json.loads(text)
    except (ValueError, RecursionError):
        items = None
    if not isinstance(items, list):
        yield Finding(path, f"{what} must be a list, JSON of one, or one template, and is {shown(text)}")
    else:
        yield from _items(items, path, what)


def _loop_template(node: Step | Dag, text: str, path: Path, what: str) -> Iterator[Finding]:
    ref = whole(text)
    known = (*node.parameters, *node.inputs)
    if ref is None:
        yield Finding(path, f"{what} must be one template and nothing else, and is {shown(text)}")
    elif ref.component is not None or ref.name not in known:
        yield Finding(path, f"{what} refers to {ref}, and sees own parameters and own input artifacts only")
    elif ref.name in node.parameters and _uses_loop(node.parameters[ref.name].value):
        yield Finding(path, f"{what} refers to {ref}, which itself refers to {LOOP_ARGUMENT}")


def _uses_loop(value: Value | None) -> bool:
    return isinstance(value, str) and (None, LOOP_ARGUMENT) in refs(value)


def _items(items: Collection[object], path: Path, what: str) -> Iterator[Finding]:
    if len(path) > _DEEPEST:
        yield Finding(path, f"{what} has lists that are nested deeper than {_DEEPEST}")
        return
    for at, item in enumerate(items):
        if isinstance(item, bool | dict) or item is None:
            said = {True: "true", False: "false", None: "null"}.get(item) if not isinstance(item, dict) else "an object"
            yield Finding((*path, at), f"{what} has {said}: items are numbers, texts and lists")
        elif isinstance(item, list | tuple):
            yield from _items(item, (*path, at), what)
        elif isinstance(item, str) and has_template(item):
            yield Finding((*path, at), f"{what} has the template {shown(item)}: items of a list are plain values")


_DEEPEST = 100
