"""What is wrong with the form of a document is told at once, each thing with its place."""

from __future__ import annotations

import pytest

from paddleflow.documents.nodes import Limits
from paddleflow.problems import DocumentInvalid
from pf_pipeline.documents.findings import Problem
from pf_pipeline.documents.reading import read
from pf_pipeline.plans.planning import examined, plan
from pf_pipeline.plans.requests import Request
from support.documents import problems, steps, told


def test_all_that_is_wrong_is_told_in_its_order_and_with_its_place() -> None:
    text = """\
name: 1st
parallelism: many
entry_points:
  dig:
    command: dig {{deep}}
    retrys: {limit: 2}
    cache: {max_expired_time: soon}
  plant:
    deps: digg
    parameters:
      seed: {type: int, default: lots}
"""
    found = problems_of(text)
    assert sorted({(problem.line, problem.column, problem.path) for problem in found}) == [
        (1, 1, "name"),
        (2, 14, "parallelism"),
        (5, 5, "entry_points.dig.command"),
        (6, 5, "entry_points.dig.retrys"),
        (7, 31, "entry_points.dig.cache.max_expired_time"),
        (9, 5, "entry_points.plant.deps"),
        (11, 7, "entry_points.plant.parameters.seed"),
    ]
    lines = [problem.line for problem in found]
    assert lines == sorted(lines)


@pytest.mark.parametrize("text", ["a text", "- a\n- b", "7"])
def test_what_is_no_object_at_all_is_told_once(text: str) -> None:
    (problem,) = problems_of(text)
    assert (problem.path, problem.line, problem.column) == ("", 1, 1)
    assert "must be an object" in problem.message


def test_a_caller_is_told_all() -> None:
    with pytest.raises(DocumentInvalid) as caught:
        plan(read("name: t\nentry_points:\n  a_b: {command: x, colour: red}\n"), Request())
    assert {violation.field for violation in caught.value.violations} == {"entry_points.a_b", "entry_points.a_b.colour"}
    assert "(line 3, column 21)" in str(caught.value)


def test_too_many_problems_are_counted() -> None:
    text = "name: t\nentry_points:\n" + "".join(f"  a{n}: {{no: 1}}\n" for n in range(150))
    with pytest.raises(DocumentInvalid) as caught:
        plan(read(text), Request())
    assert len(caught.value.violations) == 101
    assert caught.value.violations[-1].description == "has 50 more problems"


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("comand: x", "did you mean command?"),
        ("dockerenv: x", "did you mean docker_env?"),
        ("loopArgumnt: [1]", "did you mean loopArgument?"),
        ("retries: 3", "did you mean retry?"),
        ("zzz: ~", "there are"),
    ],
)
def test_an_unknown_key_is_refused_with_the_nearest(key: str, hint: str) -> None:
    name = key.partition(":")[0]
    assert hint in told(steps(f"a: {{{key}}}"))[f"entry_points.a.{name}"]


def test_one_key_in_two_ways_is_refused() -> None:
    assert (
        "is the same as docker_env" in told(problems("docker_env: a\ndockerEnv: b\nentry_points: {a: {}}"))["dockerEnv"]
    )


@pytest.mark.parametrize(
    ("text", "path", "message"),
    [
        ("[1]", "", "the document must be an object"),
        ("name: a\n\tb: c", "", "has a tab where YAML takes spaces only"),
        ("{name: a, name: b}", "", "'name' is there twice"),
        ("name: !!python/object x", "", "has a tag"),
        ("name: t", "entry_points", "is missing"),
        ("entry_points: {a: {}}", "name", "is missing"),
        ("{name: t, entry_points: {}}", "entry_points", "is missing"),
        ("{name: t, entry_points: [1]}", "entry_points", "must be an object"),
        ("{name: t, entry_points: {a: text}}", "entry_points.a", "must be an object"),
        ("{name: t, entry_points: {a: {parameters: [x]}}}", "entry_points.a.parameters", "must be an object"),
        ("{name: t, entry_points: {a: {command: [x]}}}", "entry_points.a.command", "must be a text"),
        ("{name: t, entry_points: {a: {env: {A: {b: c}}}}}", "entry_points.a.env.A", "must be a text"),
        ("{name: t, entry_points: {a: {parameters: {p: {q: 1}}}}}", "entry_points.a.parameters.p.q", "is unknown"),
        ("{name: t, entry_points: {a: {parameters: {p: {default: 1}}}}}", "entry_points.a.parameters.p", "a type"),
        ("{name: t, entry_points: {a: {parameters: {p: 1e999}}}}", "entry_points.a.parameters.p", "a number larger"),
        ("{name: t, entry_points: {a: {parameters: {p: [~]}}}}", "entry_points.a.parameters.p[0]", "must not be empty"),
        ("{name: t, entry_points: {a: {type: dag}}}", "entry_points.a.entry_points", "at least one component"),
        ("{name: t, entry_points: {a: {type: dag, command: x}}}", "entry_points.a.command", "is unknown"),
        ("{name: t, entry_points: {a: {type: stage}}}", "entry_points.a.type", "must be step here, and is 'stage'"),
        ("{name: t, entry_points: {a: {retry: {backoff: 3s}}}}", "entry_points.a.retry", "must have a limit"),
        ("{name: t, entry_points: {a: {retry: {limit: -1}}}}", "entry_points.a.retry.limit", "must be at least 0"),
        ("{name: t, entry_points: {a: {retry: {limit: 1, jitter: 2}}}}", "entry_points.a.retry.jitter", "from 0 to 1"),
        ("{name: t, entry_points: {a: {timeout: 0}}}", "entry_points.a.timeout", "must be longer than nothing"),
        ("{name: t, entry_points: {a: {timeout: soon}}}", "entry_points.a.timeout", "must be a time such as 90s"),
        ("{name: t, entry_points: {a: {results: {r: map}}}}", "entry_points.a.results.r", "must be one of string, int"),
        ("{name: t, entry_points: {a: {job: {image: x}}}}", "entry_points.a.job.image", "the step itself does"),
        ("{name: t, entry_points: {a: {job: {memberz: []}}}}", "entry_points.a.job.memberz", "did you mean members?"),
        ("{name: t, entry_points: {a: {approval: maybe}}}", "entry_points.a.approval", "must be true or false"),
        ("{name: t, entry_points: {a: {}}, parallelism: -1}", "parallelism", "must be at least 0"),
        ("{name: t, entry_points: {a: {}}, semaphores: {s: 0}}", "semaphores.s", "must be at least 1"),
        ("{name: t, entry_points: {a: {}}, notify: [{}]}", "notify[0]", "either a webhook or a command"),
        ("{name: t, entry_points: {a: {}}, notify: [{webhook: ftp://x}]}", "notify[0].webhook", "must be an http URL"),
        ("{name: t, entry_points: {a: {}}, failure_options: {strategy: wait}}", "failure_options.strategy", "'wait'"),
        ("{name: t, entry_points: {a: {}}, on_exit: {b: {when: never}}}", "on_exit.b.when", "must be one of always"),
        (
            "{name: t, fsName: a, fsOptions: {mainFS: {name: b}}, entry_points: {a: {}}}",
            "fs_name",
            "is 'a', and main_fs 'b'",
        ),
    ],
)
def test_what_cannot_be_read(text: str, path: str, message: str) -> None:
    (problem, *_) = [problem for problem in problems_of(text) if problem.path == path]
    assert message in problem.message
    assert problem.line > 0


def problems_of(text: str) -> tuple[Problem, ...]:
    return examined(read(text), Request())[1]


def test_documents_have_limits() -> None:
    small = Limits(bytes=100, values=10, repeated=100, depth=3)
    assert "has more than 0 MiB" in read("x" * 101, small).problems[0].message
    assert "has more than 10 values" in read("a: [" + "1," * 11 + "]", small).problems[0].message
    assert "is nested deeper than 3" in read("a: [[[[1]]]]", small).problems[0].message


def test_dags_may_be_nested_deep() -> None:
    text, end = "name: deep\nentry_points: ", ""
    for _ in range(45):
        text, end = text + "{d: {entry_points: ", end + "}}"
    made = plan(read(f"{text}{{s: {{command: x}}}}{end}"), Request())
    assert list(made.entry_points) == ["d"]
