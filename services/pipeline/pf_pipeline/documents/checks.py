"""What must hold of a document by itself: names, dependencies, and what each place may hold.

What templates refer to is looked at when references to components have been followed: see `scopes`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import chain

from paddleflow.documents.reader import shown
from pf_pipeline.documents.cycles import cycle
from pf_pipeline.documents.findings import Finding, Path
from pf_pipeline.documents.hints import one_of
from pf_pipeline.documents.model import Cache, Dag, Document, Mount, Node, Parameter, Reference, Step
from pf_pipeline.documents.types import wrong_default

PIPELINE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,127}", re.ASCII)
COMPONENT_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,29}", re.ASCII)
VALUE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,49}", re.ASCII)
VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}", re.ASCII)
COMPONENT_RULE = "must be a letter, then up to 29 letters, digits and hyphens"
VALUE_RULE = "must be a letter or underscore, then up to 49 letters, digits and underscores"
VARIABLE_RULE = "must be a letter or underscore, then up to 127 letters, digits and underscores"
_ARCHIVE = ".tar"
_NO_MOUNT_PATHS = ("/", ".", "..")


def check(document: Document) -> Iterator[Finding]:
    """All that is wrong."""
    if document.name and not PIPELINE_NAME.fullmatch(document.name):
        rule = "must be a letter or underscore, then up to 127 letters, digits, underscores and hyphens"
        yield Finding(("name",), f"{shown(document.name)} is no name: it {rule}")
    yield from _image(document.docker_env, ("docker_env",))
    yield from _variables(document.env, ("env",))
    yield from _filesystems(document)
    yield from _cache(document.cache, ("cache",))
    yield from _siblings(document.entry_points, ("entry_points",), document)
    yield from _siblings(document.components, ("components",), document)
    for path, component in chain(
        ((("components", name), component) for name, component in document.components.items()),
        ((("post_process", name), step) for name, step in document.post_process.items()),
        ((("on_exit", name), handler.step) for name, handler in document.on_exit.items()),
    ):
        if component.deps:
            yield Finding((*path, "deps"), f"{path[0]} cannot depend on anything")
    yield from _lasts(document)


def _siblings(nodes: Mapping[str, Node], path: Path, document: Document) -> Iterator[Finding]:
    """What is wrong with nodes of one level, and below."""
    for name, node in nodes.items():
        place = (*path, name)
        yield from _node(node, place, document)
        if isinstance(node, Dag):
            if not node.children:
                yield Finding((*place, "entry_points"), f"DAG {name} must consist of at least one component")
            yield from _siblings(node.children, (*place, "entry_points"), document)
        if path[0] == "components" and len(path) == 1:
            continue
        for dep in node.deps:
            if dep not in nodes:
                hint = one_of(dep, [other for other in nodes if other != name])
                yield Finding((*place, "deps"), f"{name} depends on {shown(dep)}, which is not beside it{hint}")
    yield from _cycles(nodes, path)


def _cycles(nodes: Mapping[str, Node], path: Path) -> Iterator[Finding]:
    found = cycle({name: [dep for dep in node.deps if dep in nodes] for name, node in nodes.items()})
    if found:
        told = " -> ".join((*found, found[0]))
        yield Finding((*path, found[0], "deps"), f"the graph has a cycle: {told}")


def _node(node: Node, path: Path, document: Document) -> Iterator[Finding]:
    if not COMPONENT_NAME.fullmatch(node.name):
        yield Finding(path, f"{shown(node.name)} is no name of a component: it {COMPONENT_RULE}")
    yield from _names(node, path)
    for name, parameter in node.parameters.items():
        yield from _parameter(node, name, parameter, (*path, "parameters", name), path[0] == "components")
    if isinstance(node, Step):
        yield from _step(node, path, document)


def _parameter(node: Node, name: str, parameter: Parameter, path: Path, may_miss: bool) -> Iterator[Finding]:
    if parameter.value is None:
        if not may_miss:
            what = "needs a default" if parameter.kind else "needs a value"
            yield Finding(path, f"parameter {name} of {node.name} {what} that is not empty")
    elif wrong := wrong_default(parameter):
        yield Finding(path, f"parameter {name} of {node.name} {wrong}")


def _names(node: Node, path: Path) -> Iterator[Finding]:
    """Names become variables in capitals, so they must differ by more than case."""
    seen: dict[str, str] = {}
    for what, name, place in _named(node, path):
        if not VALUE_NAME.fullmatch(name):
            yield Finding(place, f"{shown(name)} is no name of {what} of {node.name}: it {VALUE_RULE}")
        other = seen.get(name.upper())
        seen.setdefault(name.upper(), f"{what} {name}")
        if other == f"{what} {name}":
            yield Finding(place, f"{other} of {node.name} is there twice")
        elif other:
            yield Finding(place, f"{what} {name} of {node.name} has the same name as {other}, but for case")


def _named(node: Node, path: Path) -> Iterator[tuple[str, str, Path]]:
    for name in node.parameters:
        yield "parameter", name, (*path, "parameters", name)
    for name in node.inputs:
        yield "input artifact", name, (*path, "artifacts", "input", name)
    if isinstance(node, Dag):
        for name in node.outputs:
            yield "output artifact", name, (*path, "artifacts", "output", name)
    if isinstance(node, Step):
        for at, name in enumerate(node.outputs):
            yield "output artifact", name, (*path, "artifacts", "output", at)
        for name in node.results:
            yield "result", name, (*path, "results", name)


def _step(step: Step, path: Path, document: Document) -> Iterator[Finding]:
    yield from _image(step.docker_env, (*path, "docker_env"))
    yield from _variables(step.env, (*path, "env"))
    for at, mount in enumerate(step.extra_fs):
        yield from _mount(mount, (*path, "extra_fs", at))
    for name, result in step.results.items():
        if wrong := wrong_default(result):
            yield Finding((*path, "results", name), f"result {name} of {step.name} {wrong}")
    yield from _cache(step.cache, (*path, "cache"))
    for name in step.semaphores:
        if name not in document.semaphores:
            yield Finding((*path, "semaphores"), f"{step.name} needs {shown(name)}, which semaphores do not have")


def _image(image: str, path: Path) -> Iterator[Finding]:
    if image.endswith(_ARCHIVE):
        yield Finding(path, f"{shown(image)} is a tar file, and an image must be one of a registry")


def _variables(env: Mapping[str, str], path: Path) -> Iterator[Finding]:
    for name in env:
        if not VARIABLE_NAME.fullmatch(name):
            yield Finding((*path, name), f"{shown(name)} is no name of a variable: it {VARIABLE_RULE}")


def _filesystems(document: Document) -> Iterator[Finding]:
    if (main := document.main_fs) is not None:
        yield from _mount(main, ("fs_options", "main_fs"))
        if main.read_only:
            yield Finding(("fs_options", "main_fs", "read_only"), "main_fs must be writable")
    for at, mount in enumerate(document.extra_fs):
        yield from _mount(mount, ("fs_options", "extra_fs", at))


def _mount(mount: Mount, path: Path) -> Iterator[Finding]:
    if not mount.name:
        yield Finding(path, "must have a name: that of a filesystem")
    if mount.sub_path.startswith("/") or ".." in mount.sub_path.split("/"):
        yield Finding((*path, "sub_path"), f"{shown(mount.sub_path)} must be a path below, without / before it")
    if mount.mount_path in _NO_MOUNT_PATHS:
        yield Finding((*path, "mount_path"), f"{shown(mount.mount_path)} cannot be mounted at")


def _cache(cache: Cache, path: Path) -> Iterator[Finding]:
    for at, scope in enumerate(cache.fs_scope):
        if not scope.name:
            yield Finding((*path, "fs_scope", at), "must have a name: that of a filesystem")


def _lasts(document: Document) -> Iterator[Finding]:
    """What is wrong with the steps that come last."""
    if len(document.post_process) > 1:
        names = ", ".join(document.post_process)
        yield Finding(("post_process",), f"post_process can have one step at most, and has {names}; see on_exit")
    for name in document.post_process:
        if name in document.entry_points:
            yield Finding(("post_process", name), f"{name} is also the name of a component of entry_points")
    lasts: list[tuple[Path, Step | Reference]] = [
        *((("post_process", name), step) for name, step in document.post_process.items()),
        *((("on_exit", name), handler.step) for name, handler in document.on_exit.items()),
    ]
    for path, step in lasts:
        yield from _node(step, path, document)
        if isinstance(step, Step):
            yield from last_step(step, path)


def last_step(step: Step, path: Path) -> Iterator[Finding]:
    """What a step that comes last cannot have."""
    had = {
        "condition": step.condition,
        "loop_argument": step.loop is not None,
        "cache": step.cache != Cache(),
        "approval": step.approval,
    }
    for key, said in had.items():
        if said:
            yield Finding((*path, key), f"{path[0]} cannot have {key}")
    if step.inputs:
        yield Finding((*path, "artifacts", "input"), f"{path[0]} cannot have input artifacts")
