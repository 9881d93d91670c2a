"""What makes two steps the same, what does not, and what is told about it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pf_pipeline.artifacts.domain import CachedResult, CacheKey, NodeKey, Shelf
from pf_pipeline.artifacts.explanations import ABSENT, LONGEST, MOST, Difference, differences, explanation, nearest
from pf_pipeline.artifacts.keys import Contents, StepParts, canonical, files_key, step_key
from pf_pipeline.documents.model import CacheMode, Mount, Result, ResultKind

PARTS = StepParts(
    command="train --epoch 5 {{data}} {{model}}",
    image="python:3.11",
    parameters={"epoch": 5, "rate": 0.1, "names": ("a", 1)},
    env={"MODE": "fast", "PF_RUN_ID": "run-000001"},
    inputs=("data", "more"),
    outputs=("model", "log"),
    results={"loss": Result(ResultKind.FLOAT)},
    mounts=(Mount("fs-ada-data", "", "sub", read_only=False), Mount("fs-ada-code", "/code", "", read_only=True)),
    job={"framework": "paddle", "queue": "q", "members": [{"role": "worker", "replicas": 2, "labels": {"a": "b"}}]},
    version="1",
)
CONTENTS = Contents(inputs={"data": ("d1", "d2"), "more": ("d3",)}, scope={"code:src": "s1", "code:lib": ""})

SAME: Mapping[str, StepParts] = {
    "order of parameters": replace(PARTS, parameters={"names": ("a", 1), "rate": 0.1, "epoch": 5}),
    "order of artifacts": replace(PARTS, inputs=("more", "data"), outputs=("log", "model")),
    "another run": replace(PARTS, env={"MODE": "fast", "PF_RUN_ID": "run-000002", "PF_NEW": "x"}),
    "another queue": replace(PARTS, job={**PARTS.job, "queue": "r", "priority": "HIGH", "schedulingPolicy": {"q": 1}}),
    "other labels of a member": replace(
        PARTS, job={**PARTS.job, "members": [{"role": "worker", "replicas": 2, "queue": "x"}]}
    ),
}
OTHER: Mapping[str, StepParts] = {
    "command": replace(PARTS, command="train --epoch 6 {{data}} {{model}}"),
    "image": replace(PARTS, image="python:3.12"),
    "parameter": replace(PARTS, parameters={**PARTS.parameters, "epoch": 6}),
    "whole number or not": replace(PARTS, parameters={**PARTS.parameters, "epoch": 5.0}),
    "text or number": replace(PARTS, parameters={**PARTS.parameters, "epoch": "5"}),
    "truth or number": replace(PARTS, parameters={**PARTS.parameters, "epoch": True}),
    "order of a list": replace(PARTS, parameters={**PARTS.parameters, "names": (1, "a")}),
    "one parameter more": replace(PARTS, parameters={**PARTS.parameters, "new": ""}),
    "variable": replace(PARTS, env={"MODE": "slow"}),
    "item of a loop": replace(PARTS, loop_argument=1),
    "name of an input": replace(PARTS, inputs=("data", "extra")),
    "name of an output": replace(PARTS, outputs=("model", "logs")),
    "kind of a result": replace(PARTS, results={"loss": Result(ResultKind.STRING)}),
    "default of a result": replace(PARTS, results={"loss": Result(ResultKind.FLOAT, 0.0)}),
    "order of mounts": replace(PARTS, mounts=PARTS.mounts[::-1]),
    "read only": replace(PARTS, mounts=(replace(PARTS.mounts[0], read_only=True), PARTS.mounts[1])),
    "another folder": replace(PARTS, mounts=(replace(PARTS.mounts[0], sub_path="sub2"), PARTS.mounts[1])),
    "framework": replace(PARTS, job={**PARTS.job, "framework": "pytorch"}),
    "replicas": replace(PARTS, job={**PARTS.job, "members": [{"role": "worker", "replicas": 3}]}),
    "version": replace(PARTS, version="2"),
}


@pytest.mark.parametrize("what", SAME)
def test_what_decides_nothing(what: str) -> None:
    assert step_key(SAME[what]) == step_key(PARTS)


def test_each_thing_that_decides_makes_another_key() -> None:
    keys = [step_key(PARTS), *map(step_key, OTHER.values())]
    assert len(set(keys)) == len(keys)
    assert all(len(key) == 64 for key in keys)


def test_keys_stay_the_same_from_version_to_version() -> None:
    """If this fails, all results of all installations would count no more."""
    assert step_key(PARTS) == "3b65087ed4407ef1c6687ad891c44f603b963878645a007a7e7c453fd2dc894f"
    assert files_key(CONTENTS) == "4b2d08983a7ec3984e9e1f03701fa5e6c2839399716ce58fd0e65324ecffcf12"


def test_what_is_ignored_decides_nothing() -> None:
    ignoring = replace(PARTS, ignore=("epoch", "MODE"))
    other = replace(ignoring, parameters={**PARTS.parameters, "epoch": 7}, env={"MODE": "slow"})
    assert step_key(other) == step_key(ignoring)
    assert step_key(replace(ignoring, parameters={**PARTS.parameters, "rate": 7})) != step_key(ignoring)


@pytest.mark.parametrize(
    "other",
    [
        replace(CONTENTS, mode=CacheMode.MTIME),
        replace(CONTENTS, inputs={"data": ("d2", "d1"), "more": ("d3",)}),
        replace(CONTENTS, inputs={"data": ("d1",), "more": ("d2", "d3")}),
        replace(CONTENTS, inputs={"data": ("d1", "d2")}),
        replace(CONTENTS, scope={"code:src": "s2", "code:lib": ""}),
        replace(CONTENTS, scope={"code:src": "s1"}),
        Contents(),
    ],
)
def test_other_contents_make_another_key(other: Contents) -> None:
    assert files_key(other) != files_key(CONTENTS)


def test_the_order_in_which_files_are_named_decides_nothing() -> None:
    other = Contents(
        inputs=dict(sorted(CONTENTS.inputs.items(), reverse=True)), scope=dict(sorted(CONTENTS.scope.items()))
    )
    assert files_key(other) == files_key(CONTENTS)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abcä", max_size=3), inner, max_size=4),
    max_leaves=10,
)


def typed(value: Any) -> Any:
    """The same, so that what Python takes for equal, but JSON does not, is not."""
    match value:
        case dict():
            return {name: typed(each) for name, each in value.items()}
        case list():
            return [typed(each) for each in value]
        case _:
            return (type(value).__name__, repr(value))


@given(VALUES, VALUES)
def test_only_equal_values_have_the_same_text(one: Any, other: Any) -> None:
    same = typed(json.loads(canonical(one))) == typed(json.loads(canonical(other)))
    assert (canonical(one) == canonical(other)) is same
    assert canonical(json.loads(canonical(one))) == canonical(one)


def test_characters_are_composed() -> None:
    assert canonical({"a\u0308": ["o\u0308"]}) == canonical({"\u00e4": ["\u00f6"]})


def test_nothing_differs_from_itself() -> None:
    told = explanation(PARTS, CONTENTS)
    assert differences(told, told) == []
    assert differences(told, explanation(SAME["another queue"], CONTENTS)) == []


def test_what_differs_is_told_thing_by_thing() -> None:
    changed = replace(
        PARTS,
        command="train",
        parameters={"epoch": 5.0, "rate": 0.1, "new": "x"},
        env={"MODE": "slow"},
        version="",
        mounts=PARTS.mounts[:1],
    )
    contents = replace(CONTENTS, inputs={**CONTENTS.inputs, "more": ("d4",)}, scope={"code:src": "s2"})
    assert differences(explanation(PARTS, CONTENTS), explanation(changed, contents)) == [
        Difference("version", "1", ABSENT),
        Difference("command", PARTS.command, "train"),
        Difference("parameters.epoch", "5", "5.0"),
        Difference("parameters.names", '["a", 1]', ABSENT),
        Difference("parameters.new", ABSENT, '"x"'),
        Difference("inputs.more", "d3", "d4"),
        Difference("fs_scope.code:lib", "", ABSENT),
        Difference("fs_scope.code:src", "s1", "s2"),
        Difference("env.MODE", '"fast"', '"slow"'),
        Difference(
            "mounts",
            '[["fs-ada-data", "", "sub", false], ["fs-ada-code", "/code", "", true]]',
            '[["fs-ada-data", "", "sub", false]]',
        ),
    ]


@pytest.mark.parametrize("what", OTHER)
def test_whatever_makes_another_key_is_told(what: str) -> None:
    assert differences(explanation(PARTS, CONTENTS), explanation(OTHER[what], CONTENTS))


def test_explanations_have_a_limit_and_still_tell_all_apart() -> None:
    def large(last: str) -> str:
        many = {f"p{number:04}": "x" * 5000 for number in range(1000)}
        return explanation(replace(PARTS, parameters={**many, "z" * 5000: last}, command="y" * 10_000 + last), CONTENTS)

    assert len(large("a")) < 250_000
    told = differences(large("a"), large("b"))
    assert [each.what for each in told] == ["command", "more"]
    assert all(len(each.now) < LONGEST + 150 for each in told)
    assert len(json.loads(large("a"))) == MOST + 1


def test_an_explanation_that_cannot_be_read_is_as_good_as_none() -> None:
    assert [each.before for each in differences("[]", explanation(StepParts(command="x"), Contents()))] == [ABSENT]


def test_the_nearest_result_differs_least() -> None:
    def result(number: int, parts: StepParts) -> CachedResult:
        key = CacheKey(Shelf("ada", "", "x"), step_key(parts))
        told = explanation(parts, CONTENTS)
        return CachedResult(
            cache_key=key, files="", made_by=NodeKey(f"r{number}", "a"), component="a", explanation=told, number=number
        )

    far = replace(PARTS, command="x", image="y")
    near, nearly = OTHER["version"], OTHER["image"]
    found = nearest(explanation(PARTS, CONTENTS), [result(3, far), result(2, near), result(1, nearly)])
    assert found is not None
    assert (found[0].number, found[1]) == (2, [Difference("version", "2", "1")])
    assert nearest(explanation(PARTS, CONTENTS), []) is None
