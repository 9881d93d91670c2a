"""Documents that are written and read again say the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pf_pipeline.documents.model import (
    Approval,
    Cache,
    CacheMode,
    CacheShare,
    Dag,
    Document,
    ExitHandler,
    HandlerWhen,
    Mount,
    Parameter,
    ParameterKind,
    Reference,
    Result,
    ResultKind,
    Retry,
    Scope,
    Step,
    Strategy,
)
from pf_pipeline.documents.reading import read
from pf_pipeline.documents.writing import digest, yaml_of
from pf_pipeline.plans.domain import Planned, PlannedDag
from pf_pipeline.plans.planning import accepted
from pf_pipeline.plans.requests import Request

NAMES = st.sampled_from(["a", "b", "long-name", "D", "yes", "on"])
TEXTS = st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0"), max_size=8).filter(
    lambda text: text != "<<"
)
FULL = TEXTS.filter(bool)
SCALARS = FULL | st.integers(-(10**12), 10**12) | st.floats(allow_nan=False, allow_infinity=False) | st.booleans()
ITEMS = st.lists(SCALARS | st.lists(SCALARS, max_size=2).map(tuple), max_size=3).map(tuple)
TIMES = (
    st.none()
    | st.integers(1, 10**9).map(lambda micro: timedelta(microseconds=micro))
    | st.integers(1, 10**5).map(lambda minutes: timedelta(minutes=minutes))
)


def named(values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(NAMES, values, max_size=2)


def some(names: st.SearchStrategy[str] = NAMES) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(names, max_size=2, unique=True).map(tuple)


PARAMETERS = named(
    st.builds(Parameter, SCALARS | ITEMS) | st.builds(Parameter, SCALARS | ITEMS, st.sampled_from(ParameterKind))
)
CACHES = st.builds(
    Cache,
    enable=st.none() | st.booleans(),
    max_expired_time=st.none() | st.integers(-1, 10**6),
    fs_scope=st.lists(st.builds(Scope, NAMES, FULL), max_size=2).map(tuple),
    version=st.none() | FULL,
    ignore=some(),
    mode=st.none() | st.sampled_from(CacheMode),
    share=st.none() | st.sampled_from(CacheShare),
)
MOUNTS = st.builds(Mount, NAMES, TEXTS, TEXTS, st.booleans())
COMMON: dict[str, Any] = {"deps": some(), "parameters": PARAMETERS, "inputs": named(TEXTS)}
REPEATED: dict[str, Any] = {
    **COMMON,
    "condition": TEXTS,
    "loop": st.none() | ITEMS | FULL,
    "max_parallel": st.integers(0, 5),
}
STEPS = st.builds(
    Step,
    name=st.just(""),
    **REPEATED,
    command=TEXTS,
    docker_env=TEXTS,
    env=named(TEXTS),
    outputs=some(),
    cache=CACHES,
    extra_fs=st.lists(MOUNTS, max_size=2).map(tuple),
    retry=st.none() | st.builds(Retry, st.integers(0, 9), jitter=st.floats(0, 1), not_on=st.just((1, 2))),
    timeout=TIMES,
    pending_timeout=TIMES,
    approval=st.none() | st.builds(Approval, some(), TEXTS, TIMES),
    semaphores=some(),
    results=named(st.builds(Result, st.sampled_from(ResultKind), st.none() | SCALARS)),
    job=st.just({}) | st.just({"framework": "paddle", "members": [{"role": "worker", "replicas": 2}]}),
)
REFERENCES = st.builds(Reference, name=st.just(""), component=NAMES, **COMMON)


def with_name(node: Any, name: str) -> Any:
    fields = {field: getattr(node, field) for field in type(node).__dataclass_fields__}
    if isinstance(node, Dag):
        fields["children"] = {child: with_name(each, child) for child, each in node.children.items()}
    return type(node)(**{**fields, "name": name})


def nodes(values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return named(values).map(lambda found: {name: with_name(node, name) for name, node in found.items()})


def handlers(steps: dict[str, Any]) -> dict[str, ExitHandler]:
    return {name: ExitHandler(step, when) for (name, step), when in zip(steps.items(), HandlerWhen, strict=False)}


DAGS = st.builds(Dag, name=st.just(""), **REPEATED, children=nodes(STEPS | REFERENCES), outputs=named(TEXTS))
DOCUMENTS = st.builds(
    Document,
    name=FULL,
    entry_points=nodes(STEPS | DAGS | REFERENCES).filter(bool),
    components=nodes(STEPS | DAGS),
    docker_env=TEXTS,
    env=named(TEXTS),
    cache=CACHES,
    parallelism=st.integers(1, 50),
    disabled=some(st.sampled_from(["a", "a.b"])),
    strategy=st.sampled_from(Strategy),
    post_process=nodes(STEPS),
    on_exit=nodes(STEPS).map(handlers),
    main_fs=st.none() | MOUNTS,
    extra_fs=st.lists(MOUNTS, max_size=2).map(tuple),
    semaphores=named(st.integers(1, 9)),
    description=TEXTS,
    owner=TEXTS,
    notify=st.just(()) | st.just(({"webhook": "https://h", "secret": {"file": "f"}}, {"command": "c"})),
)


@given(DOCUMENTS)
def test_a_document_is_read_as_it_was_written(document: Document) -> None:
    reading = read(yaml_of(document))
    assert [problem for problem in reading.problems if "must" in problem.message] == []
    assert reading.document == document


SAME = "{name: t, entry_points: {a: {command: x, deps: 'b, c'}, b: {command: y}, c: {command: z}}, parallelism: 10}"
OTHER_ORDER = """
name: t
entry_points:
  b: {command: 'y'}
  c: {command: z}
  a: {deps: 'c,b', command: x}
"""
JSON = """{"name": "t", "entryPoints": {
  "a": {"command": "x", "deps": "b,c"}, "b": {"command": "y"}, "c": {"command": "z", "dockerEnv": ""}
}}"""


@pytest.mark.parametrize(
    ("other", "is_same"),
    [
        (OTHER_ORDER, True),
        (JSON, True),
        (SAME.replace("command: x", "command: xx"), False),
        (SAME.replace("'b, c'", "b"), False),
        (SAME.replace("parallelism: 10", "parallelism: 9"), False),
    ],
)
def test_a_digest_is_of_what_a_document_means(other: str, is_same: bool) -> None:
    assert (digest(read(other).document) == digest(read(SAME).document)) is is_same


LONG = """
name: long
docker_env: img
cache: {enable: true}
components:
  wait:
    parameters: {n: 1}
    loop_argument: [1, 2]
    entry_points:
      sleep: {command: "sleep {{n}}", parameters: {n: "{{PF_PARENT.n}}"}}
entry_points:
  one: {reference: {component: wait}}
  two: {reference: {component: wait}, deps: one, parameters: {n: 2}}
  three: {command: x}
"""


def test_a_document_as_it_runs_needs_neither_request_nor_components() -> None:
    request = Request(parameters={"one.n": 5}, disabled=("two.sleep",), docker_env="other", filesystem="disk")
    made = accepted(read(LONG), request)
    text = yaml_of(made.document)
    assert "reference" not in text
    again = accepted(read(text), Request())
    assert without_references(again.plan.entry_points) == without_references(made.plan.entry_points)
    assert replace(again.plan, entry_points={}) == replace(made.plan, entry_points={})


def without_references(nodes: Mapping[str, Planned]) -> dict[str, Planned]:
    return {
        name: replace(node, reference="", children=without_references(node.children))
        if isinstance(node, PlannedDag)
        else replace(node, reference="")
        for name, node in nodes.items()
    }
