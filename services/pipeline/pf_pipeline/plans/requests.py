"""What a request changes of a document: values of parameters, what is not to run, the image, the filesystem."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from paddleflow.documents.reader import shown
from pf_pipeline.documents.findings import Finding
from pf_pipeline.documents.hints import did_you_mean
from pf_pipeline.documents.model import (
    Dag,
    Document,
    ExitHandler,
    Mount,
    Node,
    Parameter,
    ParameterKind,
    Reference,
    Step,
    Strategy,
    Value,
)
from pf_pipeline.documents.types import wrong_type
from pf_pipeline.plans.values import text_of, typed

Given = Value | Mapping[str, "Given"] | None
"""A value; or values by name, of a component."""

NodePath = tuple[str, ...]
"""The names of DAGs and of what is in them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is asked for beside the document."""

    filesystem: str = ""
    """The main filesystem; empty: the one of the document."""
    parameters: Mapping[str, Given] = field(default_factory=dict)
    """`name` of every component that has it, `component.name` or `dag.component.name` of one; or objects for dots."""
    disabled: tuple[str, ...] = ()
    """Paths of nodes that are not to run, beside those of the document; each may be several, with commas."""
    docker_env: str = ""
    strategy: Strategy | None = None

    @property
    def disabled_paths(self) -> tuple[str, ...]:
        return tuple(path for text in self.disabled for part in text.split(",") if (path := part.strip()))


def applied(document: Document, request: Request) -> tuple[Document, tuple[Finding, ...]]:
    """The document without references, as the request changes it, and what is wrong with the request."""
    setting = _Setting()
    setting.take(request.parameters, ())
    made = setting.document(document) if request.parameters else document
    main_fs, fault = _main_fs(document.main_fs, request.filesystem)
    made = replace(
        made,
        docker_env=request.docker_env or made.docker_env,
        strategy=request.strategy or made.strategy,
        main_fs=main_fs,
        disabled=tuple(dict.fromkeys((*made.disabled, *request.disabled_paths))),
    )
    findings = (*fault, *setting.findings, *setting.unknown())
    if request.docker_env.endswith(".tar"):
        told = f"{shown(request.docker_env)} is a tar file, and an image must be one of a registry"
        return made, (*findings, Finding(("docker_env",), told, of_request=True))
    return made, findings


def _main_fs(said: Mount | None, asked: str) -> tuple[Mount | None, tuple[Finding, ...]]:
    """The main filesystem, by its full name if either says that."""
    if not asked or said is None:
        return (Mount(asked) if asked else said), ()
    if _without_owner(said.name) != _without_owner(asked) or ("/" in said.name and "/" in asked and said.name != asked):
        message = f"main_fs is {shown(said.name)}, and the request names {shown(asked)}"
        return said, (Finding(("fs_options", "main_fs", "name"), message),)
    return replace(said, name=max(said.name, asked, key=len)), ()


def _without_owner(name: str) -> str:
    return name.rpartition("/")[2]


@dataclass(slots=True)
class _Setting:
    everywhere: dict[str, Value] = field(default_factory=dict)
    at: dict[NodePath, dict[str, Value]] = field(default_factory=dict)
    """Values of one component, by its path."""
    used: set[tuple[NodePath, str]] = field(default_factory=set)
    findings: list[Finding] = field(default_factory=list)

    def take(self, given: Mapping[str, Given], path: NodePath) -> None:
        for key, value in given.items():
            *names, name = (*path, *key.split("."))
            if isinstance(value, Mapping):
                self.take(value, (*names, name))
            elif value is None:
                self.refuse((*names, name), "needs a value")
            elif names:
                self.at.setdefault(tuple(names), {})[name] = value
            else:
                self.everywhere[name] = value

    def refuse(self, path: NodePath, message: str) -> None:
        self.findings.append(
            Finding(("parameters", *path), f"parameter {'.'.join(path)} of the request {message}", of_request=True)
        )

    def unknown(self) -> Iterator[Finding]:
        """What no component has."""
        for path, values in ((), self.everywhere), *self.at.items():
            for name in values:
                if (path, name) not in self.used:
                    told = ".".join((*path, name))
                    whom = ".".join(path) if path else "any component"
                    message = f"parameter {shown(told)} of the request is not one of {whom}"
                    yield Finding(("parameters", *path, name), message, of_request=True)

    def document(self, document: Document) -> Document:
        lasts = {name: self.last(step) for name, step in document.post_process.items()}
        handlers = {
            name: ExitHandler(self.last(handler.step), handler.when) for name, handler in document.on_exit.items()
        }
        return replace(
            document,
            entry_points={name: self.node(node, ()) for name, node in document.entry_points.items()},
            post_process=lasts,
            on_exit=handlers,
        )

    def last(self, step: Step | Reference) -> Step | Reference:
        made = self.node(step, ())
        return step if isinstance(made, Dag) else made

    def node(self, node: Node, above: NodePath) -> Node:
        if isinstance(node, Reference):
            return node
        path = (*above, node.name)
        parameters = self.parameters(node, path)
        if isinstance(node, Step):
            return node if parameters is node.parameters else replace(node, parameters=parameters)
        children = {name: self.node(child, path) for name, child in node.children.items()}
        return replace(node, parameters=parameters, children=children)

    def parameters(self, node: Step | Dag, path: NodePath) -> Mapping[str, Parameter]:
        own = self.at.get(path, {})
        changed = dict(node.parameters)
        for name, parameter in node.parameters.items():
            if name in own:
                changed[name] = self.parameter(parameter, own[name], path, name)
            elif name in self.everywhere:
                changed[name] = self.parameter(parameter, self.everywhere[name], (), name)
        return changed if changed != node.parameters else node.parameters

    def parameter(self, parameter: Parameter, value: Value, key: NodePath, name: str) -> Parameter:
        if (key, name) not in self.used:
            self.used.add((key, name))
        made = _fitting(value, parameter.kind)
        if wrong := wrong_type(made, parameter.kind):
            self.refuse((*key, name), wrong)
        return Parameter(made, parameter.kind)


def _fitting(value: Value, kind: ParameterKind | None) -> Value:
    """The value as it must be, if it can be that; command lines know texts only, and JSON has one kind of numbers."""
    if isinstance(value, list | tuple):  # a list, if it was kept as JSON
        return tuple(_fitting(item, None) for item in value)
    if isinstance(value, str):
        return typed(value, kind)
    if kind in (ParameterKind.STRING, ParameterKind.PATH):
        return text_of(value)
    if isinstance(value, float) and value.is_integer() and kind in (None, ParameterKind.INT):
        return int(value)
    return value


def disabled_faults(paths: tuple[str, ...], document: Document, *, of_request: bool) -> Iterator[Finding]:
    """What is wrong with the paths of nodes that are not to run."""
    seen: set[str] = set()
    for path in paths:
        if path in seen:
            yield Finding(("disabled",), f"disabled names {shown(path)} twice", of_request)
        elif _node_at(document.entry_points, path.split(".")) is None:
            hint = did_you_mean(path, document.entry_points)
            yield Finding(("disabled",), f"disabled names {shown(path)}, and there is no such node{hint}", of_request)
        seen.add(path)


def _node_at(nodes: Mapping[str, Node], names: list[str]) -> Node | None:
    node: Node | None = None
    for name in names:
        node = nodes.get(name)
        if node is None:
            return None
        nodes = node.children if isinstance(node, Dag) else {}
    return node
