"""Reads a document, in YAML or JSON, and keeps all that is wrong with its form.

What it says may still make no sense: `checks` look at that, whatever could be read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from paddleflow.documents.nodes import Fields, Limits, Listing, Node, NotADocument, Scalar, parse
from paddleflow.documents.reader import below, is_empty, shown
from pf_pipeline.documents import keys
from pf_pipeline.documents.findings import Problem
from pf_pipeline.documents.model import (
    Dag,
    Document,
    ExitHandler,
    HandlerWhen,
    Loop,
    Mount,
    Reference,
    Step,
    Strategy,
)
from pf_pipeline.documents.model import Node as Written
from pf_pipeline.documents.parts import Reader

LIMITS = Limits(bytes=4 * 2**20, values=500_000, repeated=8 * 2**20, depth=100)
"""A hundred levels are those of 48 DAGs in one another."""
PARALLELISM = 10
_PLACED = {"flavour": "PF_JOB_FLAVOUR", "queue": "PF_JOB_QUEUE_NAME", "job_type": "PF_JOB_TYPE"}
"""Variables that place jobs, by the keys that set them."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a text says."""

    document: Document
    """As far as it could be read."""
    tree: Node
    problems: tuple[Problem, ...]
    """What is wrong with its form."""


def read(text: str | bytes, limits: Limits = LIMITS) -> Reading:
    """The document; what is no document at all is read as an empty one with one problem."""
    try:
        tree = parse(text, limits)
    except NotADocument as problem:
        place = problem.place or (0, 0)
        return Reading(
            Document(name="", entry_points={}), _NOTHING, (Problem("", f"the document {problem.description}", *place),)
        )
    reader = Reader()
    if not isinstance(tree, Fields):
        return Reading(Document(name="", entry_points={}), _NOTHING, (Problem("", NO_OBJECT, *tree.spot),))
    document = _document(reader, tree)
    noted = sorted(reader.found, key=lambda refusal: refusal.spot)
    return Reading(document, tree, tuple(Problem(each.path, each.description, *each.spot) for each in noted))


NO_OBJECT = "the document must be an object, with names and values"
_NOTHING = Fields({}, {}, None, 1, 0)


def _document(reader: Reader, node: Fields) -> Document:
    told = reader.keys(node, "", keys.DOCUMENT)
    for key in ("name", "entry_points"):
        if key not in told or is_empty(told[key]):
            reader.refuse(key, told[key].spot if key in told else node.spot, "is missing")
    main_fs, extra_fs = _filesystems(reader, told)
    return Document(
        name=reader.text(told.get("name"), "name"),
        entry_points=_components(reader, told.get("entry_points"), "entry_points"),
        components=_components(reader, told.get("components"), "components"),
        docker_env=reader.text(told.get("docker_env"), "docker_env"),
        env=_variables(reader, told, ""),
        cache=reader.cache(told.get("cache"), "cache"),
        parallelism=reader.number(told.get("parallelism"), "parallelism", none=PARALLELISM, least=0) or PARALLELISM,
        disabled=reader.names(told.get("disabled"), "disabled"),
        strategy=_strategy(reader, told.get("failure_options")),
        post_process=_steps(reader, told.get("post_process"), "post_process"),
        on_exit=_handlers(reader, told.get("on_exit")),
        main_fs=main_fs,
        extra_fs=extra_fs,
        semaphores=_semaphores(reader, told.get("semaphores")),
        notify=tuple(reader.notice(item, path) for path, item in reader.items(told.get("notify"), "notify")),
        description=reader.text(told.get("desc"), "desc"),
        owner=reader.text(told.get("username"), "username"),
    )


def _variables(reader: Reader, told: Mapping[str, Node], place: str) -> dict[str, str]:
    """Those that keys of their own set, unless they are set themselves."""
    texts = {variable: reader.text(told[key], f"{place}{key}") for key, variable in _PLACED.items() if key in told}
    own = reader.texts(told.get("env"), f"{place}env")
    return {**{variable: text for variable, text in texts.items() if text}, **own} if texts else own


def _strategy(reader: Reader, node: Node | None) -> Strategy:
    told = reader.keys(node, "failure_options", keys.FAILURE_OPTIONS)
    return reader.choice(told.get("strategy"), "failure_options.strategy", Strategy) or Strategy.FAIL_FAST


def _filesystems(reader: Reader, told: Mapping[str, Node]) -> tuple[Mount | None, tuple[Mount, ...]]:
    options = reader.keys(told.get("fs_options"), "fs_options", keys.FS_OPTIONS)
    main = reader.mount(options.get("main_fs"), "fs_options.main_fs")
    extra = reader.mounts(options.get("extra_fs"), "fs_options.extra_fs")
    name = reader.text(told.get("fs_name"), "fs_name")
    if name and main and main.name and main.name != name:
        reader.refuse("fs_name", told["fs_name"].spot, f"is {shown(name)}, and main_fs {shown(main.name)}")
    return main or (Mount(name) if name else None), extra


def _semaphores(reader: Reader, node: Node | None) -> dict[str, int]:
    return {
        name: reader.number(slots, f"semaphores.{name}", none=1, least=1)
        for name, slots in reader.mapping(node, "semaphores").items()
    }


def _components(reader: Reader, node: Node | None, path: str) -> dict[str, Written]:
    return {name: _component(reader, name, each, below(path, name)) for name, each in _named(reader, node, path)}


def _steps(reader: Reader, node: Node | None, path: str) -> dict[str, Step | Reference]:
    return {name: _step(reader, name, each, below(path, name), keys.STEP) for name, each in _named(reader, node, path)}


def _handlers(reader: Reader, node: Node | None) -> dict[str, ExitHandler]:
    handlers = {}
    for name, each in _named(reader, node, "on_exit"):
        path = below("on_exit", name)
        when = each.items.get("when") if isinstance(each, Fields) else None
        handlers[name] = ExitHandler(
            _step(reader, name, each, path, keys.HANDLER),
            reader.choice(when, f"{path}.when", HandlerWhen) or HandlerWhen.ALWAYS,
        )
    return handlers


def _named(reader: Reader, node: Node | None, path: str) -> list[tuple[str, Node]]:
    return list(reader.mapping(node, path).items())


def _component(reader: Reader, name: str, node: Node, path: str) -> Written:
    if isinstance(node, Fields) and ("entry_points" in node.items or "entryPoints" in node.items):
        return _dag(reader, name, node, path)
    kind = node.items.get("type") if isinstance(node, Fields) else None
    if isinstance(kind, Scalar) and kind.text == "dag":
        return _dag(reader, name, node, path)
    return _step(reader, name, node, path, keys.STEP)


def _step(reader: Reader, name: str, node: Node, path: str, known: Mapping[str, str]) -> Step | Reference:
    if isinstance(node, Fields) and (reference := node.items.get("reference")) and not is_empty(reference):
        return _reference(reader, name, node, path, known)
    told = reader.keys(node, path, known)
    _kind(reader, told, path, "step")
    artifacts = reader.keys(told.get("artifacts"), f"{path}.artifacts", keys.ARTIFACTS)
    return Step(
        **_repeated(reader, name, told, artifacts, path),
        command=reader.text(told.get("command"), f"{path}.command"),
        docker_env=reader.text(told.get("docker_env"), f"{path}.docker_env"),
        env=_variables(reader, told, f"{path}."),
        outputs=reader.names(artifacts.get("output"), f"{path}.artifacts.output"),
        cache=reader.cache(told.get("cache"), f"{path}.cache"),
        extra_fs=reader.mounts(told.get("extra_fs"), f"{path}.extra_fs"),
        retry=reader.retry(told.get("retry"), f"{path}.retry"),
        timeout=reader.period(told.get("timeout"), f"{path}.timeout"),
        pending_timeout=reader.period(told.get("pending_timeout"), f"{path}.pending_timeout"),
        approval=reader.approval(told.get("approval"), f"{path}.approval"),
        semaphores=reader.names(told.get("semaphores"), f"{path}.semaphores"),
        results={
            result: reader.result(each, below(f"{path}.results", result))
            for result, each in reader.mapping(told.get("results"), f"{path}.results").items()
        },
        job=_job(reader, told, path),
    )


def _job(reader: Reader, told: Mapping[str, Node], path: str) -> dict[str, object]:
    """What a step says of its job, also by the names that this once had."""
    found: dict[str, object] = {}
    for key in ("distributed_job", "distributed_jobs", "job"):
        if key in told:
            found |= reader.job(told[key], f"{path}.{key}")
    return found


def _dag(reader: Reader, name: str, node: Node, path: str) -> Dag:
    told = reader.keys(node, path, keys.DAG)
    _kind(reader, told, path, "dag")
    artifacts = reader.keys(told.get("artifacts"), f"{path}.artifacts", keys.ARTIFACTS)
    return Dag(
        **_repeated(reader, name, told, artifacts, path),
        children=_components(reader, told.get("entry_points"), f"{path}.entry_points"),
        outputs=reader.texts(artifacts.get("output"), f"{path}.artifacts.output"),
    )


def _reference(reader: Reader, name: str, node: Fields, path: str, known: Mapping[str, str]) -> Reference:
    told = reader.keys(node, path, known)
    for key, value in told.items():
        if key not in keys.REFERENCE and key != "when" and not is_empty(value):
            reader.refuse(f"{path}.{key}", value.spot, f"cannot stand beside a reference, which {_REFERENCE_HAS}")
    artifacts = reader.keys(told.get("artifacts"), f"{path}.artifacts", keys.ARTIFACTS)
    if (output := artifacts.get("output")) and not is_empty(output):
        reader.refuse(
            f"{path}.artifacts.output", output.spot, f"cannot stand beside a reference, which {_REFERENCE_HAS}"
        )
    reference = reader.keys(told["reference"], f"{path}.reference", keys.COMPONENT)
    return Reference(
        **_common(reader, name, told, artifacts, path),
        component=reader.text(reference.get("component"), f"{path}.reference.component"),
    )


_REFERENCE_HAS = "has deps, parameters and input artifacts only"


def _kind(reader: Reader, told: Mapping[str, Node], path: str, kind: str) -> None:
    node = told.get("type")
    text = reader.text(node, f"{path}.type")
    if node and text not in ("", kind):
        reader.refuse(f"{path}.type", node.spot, f"must be {kind} here, and is {shown(text)}")


def _common(
    reader: Reader, name: str, told: Mapping[str, Node], artifacts: Mapping[str, Node], path: str
) -> dict[str, Any]:
    return {
        "name": name,
        "deps": tuple(dict.fromkeys(reader.names(told.get("deps"), f"{path}.deps"))),
        "parameters": {
            parameter: reader.parameter(each, below(f"{path}.parameters", parameter))
            for parameter, each in reader.mapping(told.get("parameters"), f"{path}.parameters").items()
        },
        "inputs": reader.texts(artifacts.get("input"), f"{path}.artifacts.input"),
    }


def _repeated(
    reader: Reader, name: str, told: Mapping[str, Node], artifacts: Mapping[str, Node], path: str
) -> dict[str, Any]:
    return _common(reader, name, told, artifacts, path) | {
        "condition": reader.text(told.get("condition"), f"{path}.condition"),
        "loop": _loop(reader, told.get("loop_argument"), f"{path}.loop_argument"),
        "max_parallel": reader.number(told.get("max_parallel"), f"{path}.max_parallel", none=0, least=0),
    }


def _loop(reader: Reader, node: Node | None, path: str) -> Loop | None:
    """An empty list is one; nothing, or an empty text, is none."""
    if isinstance(node, Listing):
        items = reader.value(node, path)
        return items if isinstance(items, tuple) else ()
    return reader.text(node, path) or None
