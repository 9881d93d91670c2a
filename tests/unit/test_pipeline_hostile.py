"""Whatever a document holds, it is read in little time and memory, and told what is wrong with it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from paddleflow.documents.writing import to_yaml
from pf_pipeline.documents import keys
from pf_pipeline.documents.reading import read
from pf_pipeline.documents.templates import Ref, refs, replaced, too_long, whole
from pf_pipeline.documents.writing import digest, yaml_of
from pf_pipeline.plans.domain import PlannedStep
from pf_pipeline.plans.planning import accepted, examined
from pf_pipeline.plans.requests import Request
from pf_pipeline.plans.resolving import Filling, Own
from pf_pipeline.plans.values import Unsettled, list_of

NAMES = st.sampled_from(["a", "b", "c", "p", "o", "PF_PARENT", "PF_LOOP_ARGUMENT", "PF_RUN_ID", "a-b", "A"])
TEMPLATES = st.builds("{{{{{}}}}}".format, NAMES) | st.builds("{{{{ {}.{} }}}}".format, NAMES, NAMES)
WORDS = TEMPLATES | NAMES | st.sampled_from(["a,b", "1 > 0", "[1, 2]", "fail_fast", "90s", "string", ""])
SCALARS = WORDS | st.text(max_size=5) | st.integers(-2, 3) | st.booleans() | st.none() | st.floats(allow_nan=False)
KEYS = NAMES | st.sampled_from(
    sorted({*keys.DOCUMENT, *keys.STEP, *keys.DAG, *keys.CACHE, *keys.MOUNT, "input", "output"})
)
ANYTHING = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=20
)
PARAMETERS = st.dictionaries(NAMES, SCALARS, max_size=3)
ARTIFACTS = st.fixed_dictionaries(
    {}, optional={"input": st.dictionaries(NAMES, TEMPLATES, max_size=2), "output": st.lists(NAMES, max_size=2)}
)
STEPS = st.fixed_dictionaries(
    {},
    optional={
        "command": WORDS,
        "deps": NAMES | st.just("a,b"),
        "parameters": PARAMETERS,
        "artifacts": ARTIFACTS,
        "condition": WORDS,
        "loop_argument": WORDS | st.lists(SCALARS, max_size=3),
        "reference": st.fixed_dictionaries({"component": NAMES}),
        "env": st.dictionaries(NAMES, WORDS, max_size=2),
    },
)
NODES = st.recursive(
    st.dictionaries(NAMES, STEPS, max_size=3),
    lambda inner: st.dictionaries(
        NAMES, STEPS | st.fixed_dictionaries({"entry_points": inner}, optional={"parameters": PARAMETERS}), max_size=3
    ),
    max_leaves=6,
)
DOCUMENTS = st.fixed_dictionaries(
    {"name": st.just("t"), "entry_points": NODES},
    optional={"components": NODES, "post_process": NODES, "disabled": WORDS, "cache": ANYTHING, "fsName": st.just("d")},
)


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    begun = time.process_time()
    yield
    assert time.process_time() - begun < seconds


def judged(text: str | bytes) -> None:
    """Whatever it says, it is refused, or it has a plan, which what is written of it has as well."""
    reading = read(text)
    document, problems = examined(reading, Request())
    assert all(problem.message for problem in problems)
    if not problems:
        made = accepted(reading, Request())
        again = accepted(read(yaml_of(made.document)), Request())
        assert list(again.plan.entry_points) == list(made.plan.entry_points)
        assert digest(document)


@given(st.binary(max_size=40) | st.text(max_size=40) | st.text(alphabet="{}[]:,-#&*!|>'\"\n a1", max_size=40))
@example("&a [*a]")
@example("<<: [1]")
@example("? {a: 1}\n: 2")
def test_any_text(text: str | bytes) -> None:
    judged(text)


@given(ANYTHING)
def test_anything_that_is_yaml(value: Any) -> None:
    judged(json.dumps(value))


@given(DOCUMENTS)
def test_anything_that_looks_like_a_document(value: dict[str, Any]) -> None:
    judged(to_yaml(value))


@given(st.dictionaries(NAMES, st.recursive(SCALARS, lambda inner: st.dictionaries(NAMES, inner, max_size=2))))
def test_any_parameters_of_a_request(given_: dict[str, Any]) -> None:
    text = "name: t\nentry_points: {a: {parameters: {p: 1, o: {type: int, default: 2}}, entry_points: {b: {}}}}"
    problems = examined(read(text), Request(parameters=given_))[1]
    assert all(problem.message for problem in problems)


def plainly(text: str) -> list[Ref]:
    """Templates, found without expressions."""
    found, at = [], 0
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
    while (begin := text.find("{{", at)) >= 0:
        end = text.find("}}", begin)
        inner = text[begin + 2 : end].strip(" \t\n\r\f\v") if end >= 0 else ""
        component, dot, name = inner.rpartition(".")
        if end >= 0 and name and all(letter in letters for letter in component + name):
            found.append(Ref(component if dot else None, name))
            at = end + 2
        else:
            at = begin + 1
    return found


@given(st.text(alphabet="{} .ab-_\n", max_size=30) | st.lists(TEMPLATES | st.text(max_size=3)).map("".join))
@example("{{{a}}}")
@example("{{a}}}}{{b.c}}")
def test_templates_are_found_as_plain_rules_say(text: str) -> None:
    assert refs(text) == plainly(text)
    assert replaced(text, lambda ref: f"<{ref}>").count("<") == len(refs(text)) + text.count("<")


@pytest.mark.parametrize(
    "text",
    [
        "{{" * 500_000,
        "{{ " * 300_000,
        "{{" + " " * 1_000_000,
        "{{" + "a" * 1_000_000,
        "{{" + "a." * 500_000,
        "{{a" * 300_000,
        "{{a}" * 250_000,
        "{{" + "-" * 1_000_000 + "}}",
        "{{a.a.a" * 150_000,
    ],
    ids=range(9),
)
def test_templates_take_time_by_their_length_only(text: str) -> None:
    with at_most(3):
        refs(text)
        whole(text)
        list(too_long(text))
        replaced(text, str)


def flow(form: str, count: int) -> str:
    """Entries of a mapping in flow style."""
    return ", ".join(form.format(n=n, m=n + 1) for n in range(count))


def lines(form: str, count: int) -> str:
    return "".join(form.format(n=n, m=n + 1) for n in range(count))


def laughs(name: str, indent: str = "") -> str:
    """Each name stands for ten of the one before."""
    first = f"{indent}{name}0: &{name}0 [x, x]\n"
    return first + "".join(
        f"{indent}{name}{n}: &{name}{n} [{','.join([f'*{name}{n - 1}'] * 10)}]\n" for n in range(1, 20)
    )


NODES_OF = "name: t\nentry_points:\n"
NEEDY = f"  z:\n    deps: {flow('a{n}', 3000)}\n    parameters:\n" + lines("      q{n}: '{{{{a{n}.p}}}}'\n", 3000)
COPY = "  a{n}: {{reference: {{component: c}}, parameters: {{p1: 2}}}}\n"
BOMBS = {
    "laughs": laughs("a"),
    "laughing parameters": f"{NODES_OF}  a:\n    parameters:\n{laughs('p', '      ')}",
    "brackets": "[" * 200_000,
    "braces": "{a: " * 200_000,
    "merges": "a: &a {b: 1}\n" + lines("c{n}: {{<<: *a}}\n", 20_000),
    "itself": "name: &n [*n]",
    "a long name": f"name: t\nentry_points: {{{'a' * 1_000}: {{{'b' * 1_000_000}: 1}}}}",
    "unknown keys": f"name: t\nentry_points: {{a: {{{flow('key{n}: 1', 30_000)}}}}}",
    "unknown names": "name: t\nentry_points: {a: {parameters: {" + flow("p{n}: '{{{{q{n}}}}}'", 20_000) + "}}}",
    "unknown nodes": f"name: t\ndisabled: '{flow('n{n}', 30_000)}'\nentry_points: {{{flow('a{n}: {{}}', 3_000)}}}",
    "many needs": NODES_OF + lines("  a{n}: {{parameters: {{p: 1}}}}\n", 3_000) + NEEDY,
    "a chain": f"{NODES_OF}  a0: {{}}\n" + lines("  a{m}: {{deps: a{n}}}\n", 5_000),
    "a circle": NODES_OF + lines("  a{n}: {{deps: a{m}}}\n", 5_000) + "  a5000: {deps: a0}\n",
    "a chain of copies": "name: t\nentry_points: {a: {reference: {component: c5000}}}\ncomponents:\n  c0: {}\n"
    + lines("  c{m}: {{entry_points: {{a: {{reference: {{component: c{n}}}}}}}}}\n", 5_000),
    "copies of much": "name: t\ncomponents: {c: {parameters: {"
    + flow("p{n}: 1", 5_000)
    + "}}}\nentry_points:\n"
    + lines(COPY, 5_000),
    "deep JSON": f"name: t\nentry_points: {{a: {{loop_argument: '{'[' * 900}{']' * 900}'}}}}",
    "a long condition": f'name: t\nentry_points: {{a: {{condition: "{"(" * 100_000}"}}}}',
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs(name: str) -> None:
    with at_most(10):
        judged(BOMBS[name])


def test_ten_thousand_steps_take_no_longer_than_they_need() -> None:
    """It is some 1.2 s on an idle machine; a busy one takes longer for the same."""
    needs = [",".join(f"n{m}" for m in range(max(0, n - 3), n)) for n in range(10_000)]
    text = NODES_OF + "".join(
        f'  n{n}:\n    command: "echo {{{{p}}}} {{{{q}}}}"\n    deps: {deps}\n    env: {{A: b}}\n'
        f"    parameters:\n      p: {n}\n      q: '{{{{n{max(n - 1, 0)}.p}}}}'\n"
        for n, deps in enumerate(needs)
        if n
    )
    text += "  n0: {parameters: {p: 1}}\n"
    with at_most(5):
        assert len(accepted(read(text), Request()).plan.entry_points) == 10_000


def test_long_parameters_are_no_problem() -> None:
    text = f"name: t\nentry_points: {{a: {{command: '{{{{p}}}}', parameters: {{p: \"{'x' * 1_000_000}\"}}}}}}"
    with at_most(3):
        made = accepted(read(text), Request()).plan.entry_points["a"]
        assert isinstance(made, PlannedStep)
        own = Own(system={}, values=made.parameters)
        assert len(Filling(made, own).text(made.command)) == 1_000_000


def test_hundreds_of_thousands_of_values_are_read() -> None:
    values = ",".join("1" for _ in range(400_000))
    with at_most(20):
        assert examined(read(f"name: t\nentry_points: {{a: {{loop_argument: [{values}]}}}}"), Request())[1] == ()


@given(st.text(alphabet='[]{},"0123456789.eE-+ tfn', max_size=20) | st.recursive(SCALARS, st.lists).map(json.dumps))
@example("[" * 100_000)
@example("[" + "9" * 5000 + "]")
@example("[Infinity]")
def test_lists_of_any_text(text: str) -> None:
    """It is a list, or there is one kind of problem."""
    with suppress(Unsettled):
        assert isinstance(list_of(text, "it"), tuple)
