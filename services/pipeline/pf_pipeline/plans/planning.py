"""Makes a plan of a document and a request, or says all that is wrong with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import TypeVar

from pf_pipeline.documents.checks import check
from pf_pipeline.documents.expanding import expanded, referred
from pf_pipeline.documents.findings import Finding, Path, Problem, located, refusal
from pf_pipeline.documents.model import (
    Cache,
    CacheMode,
    CacheShare,
    Dag,
    Document,
    HandlerWhen,
    Node,
    ParameterKind,
    Reference,
    Step,
    Value,
)
from pf_pipeline.documents.reading import Reading
from pf_pipeline.documents.scopes import check_templates
from pf_pipeline.documents.templates import refs
from pf_pipeline.plans.domain import Kind, Plan, Planned, PlannedDag, PlannedStep
from pf_pipeline.plans.requests import NodePath, Request, applied, disabled_faults

T = TypeVar("T")
NAME_ONE = "name one in fs_options.main_fs, or create the run in one (-f)"


@dataclass(frozen=True, slots=True)
class Accepted:
    """What a run is to do."""

    plan: Plan
    document: Document
    """As it runs: with what the request changed, and copies in place of references. It makes the same plan again."""


def accepted(reading: Reading, request: Request) -> Accepted:
    """What a run is to do; raises DocumentInvalid with all that is wrong."""
    document, problems = examined(reading, request)
    if problems:
        raise refusal(problems)
    return Accepted(_Planner(document).plan(), replace(document, components={}))


def plan(reading: Reading, request: Request) -> Plan:
    """As `accepted`."""
    return accepted(reading, request).plan


def examined(reading: Reading, request: Request) -> tuple[Document, tuple[Problem, ...]]:
    """The document without references, as the request changes it; and all that is wrong, in the document's order."""
    raw = reading.document
    copied, wrong_references = expanded(raw)
    document, wrong_request = applied(copied, request)
    findings = chain(
        check(raw),
        wrong_references,
        wrong_request,
        check_templates(document, referred(raw)),
        _filesystem_faults(document),
        _disabled_faults(raw.disabled, document, request),
    )
    problems = {(problem.path, problem.message): problem for problem in located(reading.tree, findings)}
    return document, tuple(sorted((*reading.problems, *problems.values()), key=lambda problem: problem.place))


def _filesystem_faults(document: Document) -> Iterator[Finding]:
    known = {mount.name for mount in document.extra_fs}
    if document.main_fs:
        known |= {document.main_fs.name, document.main_fs.name.rpartition("/")[2]}
    for at, scope in enumerate(document.cache.fs_scope):
        if scope.name and scope.name not in known:
            path = ("cache", "fs_scope", at, "name")
            yield Finding(path, f"fs_scope names {scope.name}, which is neither main_fs nor among extra_fs")
    yield from _level_faults(document.entry_points, ("entry_points",), document, known)
    yield from _level_faults(document.post_process, ("post_process",), document, known)
    handlers = {name: handler.step for name, handler in document.on_exit.items()}
    yield from _level_faults(handlers, ("on_exit",), document, known)


def _level_faults(nodes: Mapping[str, Node], path: Path, document: Document, known: set[str]) -> Iterator[Finding]:
    for name, node in nodes.items():
        place = (*path, name)
        if not document.main_fs and not isinstance(node, Reference) and (node.inputs or node.outputs):
            message = f"{name} has artifacts, which need a main filesystem: {NAME_ONE}"
            yield Finding((*place, "artifacts"), message)
        if not document.main_fs and isinstance(node, Step) and node.results:
            message = f"{name} has results, which need a main filesystem: {NAME_ONE}"
            yield Finding((*place, "results"), message)
        if isinstance(node, Dag):
            yield from _level_faults(node.children, (*place, "entry_points"), document, known)
        if isinstance(node, Step) and node.cache.fs_scope:
            own = known | {mount.name for mount in node.extra_fs}
            for at, scope in enumerate(node.cache.fs_scope):
                if scope.name and scope.name not in own:
                    message = f"fs_scope of {name} names {scope.name}, which is neither main_fs nor among extra_fs"
                    yield Finding((*place, "cache", "fs_scope", at, "name"), message)


def _disabled_faults(said: tuple[str, ...], document: Document, request: Request) -> Iterator[Finding]:
    yield from disabled_faults(said, document, of_request=False)
    yield from disabled_faults(request.disabled_paths, document, of_request=True)
    if disabled := frozenset(document.disabled):
        yield from _used_faults(document.entry_points, (), disabled, ("entry_points",))


def _used_faults(nodes: Mapping[str, Node], above: NodePath, disabled: frozenset[str], path: Path) -> Iterator[Finding]:
    """Nodes that run, and use something of nodes that do not."""
    off = {name for name in nodes if ".".join((*above, name)) in disabled}
    for name, node in nodes.items():
        if isinstance(node, Reference) or name in off:
            continue
        for used in sorted(off & _used(node)):
            message = f"{name} uses {used}, which is disabled: disable {name} as well, or neither"
            yield Finding((*path, name), message)
        if isinstance(node, Dag):
            below = (*above, name)
            children_off = {child for child in node.children if ".".join((*below, child)) in disabled}
            for output, text in node.outputs.items():
                for ref in refs(text):
                    if ref.component in children_off:
                        message = f"output artifact {output} of {name} is one of {ref.component}, which is disabled"
                        yield Finding((*path, name, "artifacts", "output", output), message)
            yield from _used_faults(node.children, below, disabled, (*path, name, "entry_points"))


def _used(node: Step | Dag) -> set[str]:
    """Siblings to which a node refers."""
    texts = [parameter.value for parameter in node.parameters.values() if isinstance(parameter.value, str)]
    return {ref.component for text in (*texts, *node.inputs.values()) for ref in refs(text) if ref.component}


class _Planner:
    """Hands down what the document says for all."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._disabled = frozenset(document.disabled)

    def plan(self) -> Plan:
        document = self._document
        last = [
            self._step(step, (), Kind.POST_PROCESS) for step in document.post_process.values() if isinstance(step, Step)
        ]
        handlers = [
            self._step(handler.step, (), Kind.EXIT_HANDLER, handler.when)
            for handler in document.on_exit.values()
            if isinstance(handler.step, Step)
        ]
        return Plan(
            name=document.name,
            entry_points=self._nodes(document.entry_points, ()),
            post_process=last[0] if last else None,
            on_exit=tuple(handlers),
            parallelism=document.parallelism,
            strategy=document.strategy,
            main_fs=document.main_fs,
            semaphores=document.semaphores,
            notify=document.notify,
        )

    def _nodes(self, nodes: Mapping[str, Node], above: NodePath) -> Mapping[str, Planned]:
        return {
            name: self._step(node, above) if isinstance(node, Step) else self._dag(node, above)
            for name, node in nodes.items()
            if not isinstance(node, Reference)
        }

    def _dag(self, dag: Dag, above: NodePath) -> PlannedDag:
        return PlannedDag(
            name=dag.name,
            reference=dag.reference,
            deps=dag.deps,
            parameters=_values(dag),
            kinds=_kinds(dag),
            inputs=dag.inputs,
            condition=dag.condition,
            loop=dag.loop,
            max_parallel=dag.max_parallel,
            disabled=self._is_disabled(above, dag.name),
            children=self._nodes(dag.children, (*above, dag.name)),
            outputs=dag.outputs,
        )

    def _step(
        self, step: Step, above: NodePath, kind: Kind = Kind.STEP, when: HandlerWhen = HandlerWhen.ALWAYS
    ) -> PlannedStep:
        document = self._document
        return PlannedStep(
            name=step.name,
            reference=step.reference,
            deps=step.deps,
            parameters=_values(step),
            kinds=_kinds(step),
            inputs=step.inputs,
            condition=step.condition,
            loop=step.loop,
            max_parallel=step.max_parallel,
            disabled=kind is Kind.STEP and self._is_disabled(above, step.name),
            kind=kind,
            command=step.command,
            docker_env=step.docker_env or document.docker_env,
            env={**document.env, **step.env},
            outputs=step.outputs,
            results=step.results,
            cache=_inherited(step.cache, document.cache) if kind is Kind.STEP else _OFF,
            extra_fs=(*step.extra_fs, *document.extra_fs),
            retry=step.retry,
            timeout=step.timeout,
            pending_timeout=step.pending_timeout,
            approval=step.approval,
            semaphores=step.semaphores,
            job=step.job,
            when=when,
        )

    def _is_disabled(self, above: NodePath, name: str) -> bool:
        return bool(self._disabled) and ".".join((*above, name)) in self._disabled


def _values(node: Step | Dag) -> dict[str, Value]:
    return {name: parameter.value for name, parameter in node.parameters.items() if parameter.value is not None}


def _kinds(node: Step | Dag) -> dict[str, ParameterKind]:
    return {name: parameter.kind for name, parameter in node.parameters.items() if parameter.kind}


def _inherited(own: Cache, common: Cache) -> Cache:
    """Field by field; files that decide are those of both."""
    return Cache(
        enable=_first(own.enable, common.enable, _OFF.enable),
        max_expired_time=_first(own.max_expired_time, common.max_expired_time, _OFF.max_expired_time),
        fs_scope=(*own.fs_scope, *common.fs_scope),
        version=_first(own.version, common.version, _OFF.version),
        ignore=(*own.ignore, *common.ignore),
        mode=own.mode or common.mode or _OFF.mode,
        share=own.share or common.share or _OFF.share,
    )


def _first(*values: T | None) -> T | None:
    return next((value for value in values if value is not None), None)


_OFF = Cache(enable=False, max_expired_time=-1, version="", mode=CacheMode.CONTENT, share=CacheShare.SOURCE)
"""What holds where nothing is said."""
