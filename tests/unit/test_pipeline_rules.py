"""What documents may say: names, dependencies, types, references, what comes last, filesystems."""

from __future__ import annotations

from typing import Any

import pytest

from pf_pipeline.documents.reading import read
from pf_pipeline.plans.planning import examined
from pf_pipeline.plans.requests import Request
from support.documents import problems, steps

DISK = "fs_options: {main_fs: {name: disk}}"


def only(found: Any, path: str, *words: str) -> None:
    """There is this one problem, and it says what helps to find it."""
    assert [problem.path for problem in found] == [path]
    assert [word for word in words if word not in found[0].message] == []


@pytest.mark.parametrize(
    ("text", "path", "words"),
    [
        ("dig_up: {}", "entry_points.dig_up", ("'dig_up'", "letter", "hyphens")),
        ("1a: {}", "entry_points.1a", ("'1a'",)),
        (f"{'a' * 31}: {{}}", f"entry_points.{'a' * 31}", ("29",)),
        ("a: {parameters: {sun-set: 1}}", "entry_points.a.parameters.sun-set", ("sun-set", "a")),
        ("a: {env: {A-B: 1}}", "entry_points.a.env.A-B", ("variable",)),
        ("a: {results: {r-1: int}}", "entry_points.a.results.r-1", ("result",)),
        (
            "a: {parameters: {Seed: 1, SEED: 2}}",
            "entry_points.a.parameters.SEED",
            ("parameter SEED of a", "parameter Seed", "case"),
        ),
        (
            "a: {parameters: {seed: 1}, results: {SEED: int}}",
            "entry_points.a.results.SEED",
            ("result SEED of a", "parameter seed"),
        ),
    ],
)
def test_names(text: str, path: str, words: tuple[str, ...]) -> None:
    only(steps(text, DISK), path, *words)


def test_artifacts_and_parameters_share_their_names() -> None:
    found = steps("a: {parameters: {seed: 1}, artifacts: {output: [Seed]}}", DISK)
    only(found, "entry_points.a.artifacts.output[0]", "output artifact Seed", "parameter seed")
    text = "a: {artifacts: {output: [o]}}, b: {deps: a, parameters: {I: 1}, artifacts: {input: {i: '{{a.o}}'}}}"
    only(steps(text, DISK), "entry_points.b.artifacts.input.i", "input artifact i of b", "parameter I")
    only(steps("a: {artifacts: {output: [o, o]}}", DISK), "entry_points.a.artifacts.output[1]", "o", "twice")


def test_the_name_of_a_pipeline() -> None:
    found = examined(read("{name: a b, entry_points: {a: {}}}"), Request())[1]
    only(found, "name", "'a b'", "127")


@pytest.mark.parametrize(
    ("text", "path", "words"),
    [
        ("a: {deps: b}", "entry_points.a.deps", ("a depends on 'b'", "not beside it")),
        ("a: {deps: sten}, step: {}", "entry_points.a.deps", ("did you mean step?",)),
        ("a: {deps: a}", "entry_points.a.deps", ("cycle", "a -> a")),
        ("a: {deps: c}, b: {deps: a}, c: {deps: b}", "entry_points.a.deps", ("cycle: a -> c -> b -> a",)),
        (
            "d: {entry_points: {a: {deps: b}, b: {deps: a}}}",
            "entry_points.d.entry_points.a.deps",
            ("cycle",),
        ),
        ("a: {}, d: {entry_points: {b: {deps: a}}}", "entry_points.d.entry_points.b.deps", ("not beside it",)),
    ],
)
def test_dependencies(text: str, path: str, words: tuple[str, ...]) -> None:
    only(steps(text), path, *words)


@pytest.mark.parametrize("deps", ["' a,, b ,'", "[a, b]", "'a,b'", "'b,a,b'"])
def test_dependencies_may_have_blanks_and_commas(deps: str) -> None:
    assert steps(f"a: {{}}, b: {{}}, c: {{deps: {deps}}}") == ()


@pytest.mark.parametrize(
    "value",
    [
        "{type: string, default: '1'}",
        "{type: float, default: 2}",
        "{type: float, default: -2.5e3}",
        "{type: int, default: 7}",
        "{type: path, default: ./a-b/c_d.txt}",
        "{type: list, default: [1, [x]]}",
        "{type: list, default: []}",
        "{type: path, default: '/data/{{PF_RUN_ID}}'}",
        "{type: int, default: '{{PF_LOOP_ARGUMENT}}'}",
        "''",
        "[]",
    ],
)
def test_values_that_are_of_their_type(value: str) -> None:
    assert steps(f"a: {{loop_argument: [1], parameters: {{p: {value}}}}}") == ()


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("{type: string, default: 1}", ("must be string", "quotes")),
        ("{type: float, default: much}", ("must be float", "'much'")),
        ("{type: int, default: 1.5}", ("must be int", "'1.5'")),
        ("{type: int, default: true}", ("must be int",)),
        ("{type: path, default: 'a b'}", ("must be path", "'a b'", "letters")),
        ("{type: list, default: 3}", ("must be list",)),
        ("{type: list, default: ['{{PF_RUN_ID}}']}", ("template in a list",)),
        ("{type: path, default: ''}", ("p of a", "needs a default")),
        ("{type: int}", ("p of a", "needs a default")),
        ("~", ("p of a", "needs a value")),
        ("['{{PF_RUN_ID}}']", ("template in a list",)),
    ],
)
def test_values_that_are_not_of_their_type(value: str, words: tuple[str, ...]) -> None:
    only(steps(f"a: {{parameters: {{p: {value}}}}}"), "entry_points.a.parameters.p", *words)


def test_defaults_of_results_are_of_their_type() -> None:
    only(steps("a: {results: {r: {type: int, default: x}}}", DISK), "entry_points.a.results.r", "must be int")


@pytest.mark.parametrize(
    ("text", "path", "words"),
    [
        (
            "components: {c: {}}\nentry_points: {a: {reference: {component: d}}}",
            "component",
            ("a", "'d'", "there are c"),
        ),
        (
            "components: {c: {parameters: {p: 1}}}\nentry_points: {a: {reference: {component: c}, parameters: {q: 1}}}",
            "entry_points.a.parameters.q",
            ("a sets parameter 'q'", "c does not have"),
        ),
        (
            "components: {c: {parameters: {p: {type: int, default: 1}}}}\n"
            "entry_points: {a: {reference: {component: c}, parameters: {p: x}}}",
            "entry_points.a.parameters.p",
            ("p of a", "must be int", "'x'"),
        ),
        (
            "components: {c: {parameters: {p: {type: int, default: 1}}}}\n"
            "entry_points: {a: {reference: {component: c}, parameters: {p: {type: float, default: 2}}}}",
            "entry_points.a.parameters.p",
            ("as float", "int"),
        ),
        (
            "components: {c: {parameters: {p: ~}}}\nentry_points: {a: {reference: {component: c}}}",
            "entry_points.a.reference",
            ("a must set p", "c leaves open"),
        ),
        (
            f"{DISK}\ncomponents: {{c: {{artifacts: {{input: {{i: ''}}}}}}}}\n"
            "entry_points: {a: {reference: {component: c}}}",
            "entry_points.a.reference",
            ("a must say", "input artifact i"),
        ),
        (
            f"{DISK}\ncomponents: {{c: {{}}}}\nentry_points:\n  b: {{artifacts: {{output: [o]}}}}\n"
            "  a: {deps: b, reference: {component: c}, artifacts: {input: {i: '{{b.o}}'}}}",
            "entry_points.a.artifacts.input.i",
            ("a sets the input artifact 'i'", "c does not have"),
        ),
        (
            "components: {c: {}}\nentry_points: {a: {reference: {component: c}, command: x}}",
            "entry_points.a.command",
            ("beside a reference", "deps, parameters and input artifacts only"),
        ),
        (
            "components: {c: {}}\nentry_points: {a: {reference: {component: c}, artifacts: {output: [o]}}}",
            "entry_points.a.artifacts.output",
            ("beside a reference",),
        ),
        (
            "components: {c: {deps: d}, d: {}}\nentry_points: {a: {}}",
            "components.c.deps",
            ("components cannot depend",),
        ),
    ],
)
def test_references(text: str, path: str, words: tuple[str, ...]) -> None:
    found = problems(text)
    assert found[0].path.endswith(path)
    only(found, found[0].path, *words)


def test_references_in_a_circle() -> None:
    text = "components: {c: {entry_points: {d: {reference: {component: e}}}}, e: {reference: {component: c}}}\n"
    only(problems(f"{text}entry_points: {{a: {{reference: {{component: c}}}}}}"), "components.c", "cycle: c -> e -> c")


def test_what_is_wrong_in_a_component_is_told_once_and_there() -> None:
    text = "components:\n  c: {command: '{{none}}'}\nentry_points:\n"
    found = problems(text + "".join(f"  a{n}: {{reference: {{component: c}}}}\n" for n in range(3)))
    assert {(problem.path, problem.line) for problem in found} == {("components.c.command", 3)}


def test_copies_of_copies_are_counted_before_they_are_made() -> None:
    text = "components:\n  c0: {command: x}\n"
    for n in range(1, 30):
        one = f"{{reference: {{component: c{n - 1}}}}}"
        text += f"  c{n}: {{entry_points: {{a: {one}, b: {one}}}}}\n"
    found = problems(text + "entry_points: {a: {reference: {component: c29}}}")
    only(found, "components.c16", f"the document has {2**17 - 1} steps and DAGs with all copies", "100000")


@pytest.mark.parametrize(
    ("more", "path", "words"),
    [
        ("post_process: {b: {}, c: {}}", "post_process", ("post_process", "one step", "b, c", "on_exit")),
        ("post_process: {a: {}}", "post_process.a", ("a", "entry_points")),
        ("post_process: {b: {deps: a}}", "post_process.b.deps", ("post_process cannot depend",)),
        ("post_process: {b: {condition: 1 > 0}}", "post_process.b.condition", ("post_process", "condition")),
        ("post_process: {b: {loop_argument: [1]}}", "post_process.b.loop_argument", ("loop_argument",)),
        ("post_process: {b: {cache: {enable: true}}}", "post_process.b.cache", ("cache",)),
        ("post_process: {b: {parameters: {p: '{{a.q}}'}}}", "post_process.b.parameters.p", ("b", "a.q")),
        ("post_process: {b: {entry_points: {c: {}}}}", "post_process.b.entry_points", ("unknown",)),
        ("post_process: {b: {artifacts: {output: [o]}}}", "post_process.b.artifacts", ("b has artifacts", "main_fs")),
        ("on_exit: {b: {results: {r: int}}}", "on_exit.b.results", ("b has results", "main_fs")),
        ("on_exit: {b: {approval: true}}", "on_exit.b.approval", ("on_exit cannot have approval",)),
        (
            "components: {d: {entry_points: {s: {}}}}\npost_process: {b: {reference: {component: d}}}",
            "post_process.b.reference",
            ("must be a step",),
        ),
        (
            "components: {c: {condition: 1 > 0}}\npost_process: {b: {reference: {component: c}}}",
            "components.c.condition",
            ("post_process",),
        ),
        ("disabled: b", "disabled", ("'b'", "no such node")),
        ("disabled: 'a, a'", "disabled", ("'a'", "twice")),
        ("docker_env: x.tar", "docker_env", ("tar",)),
        ("cache: {fs_scope: [{name: disk}]}", "cache.fs_scope[0].name", ("disk",)),
        ("cache: {fs_scope: [{path: /}]}", "cache.fs_scope[0]", ("name",)),
        ("fs_options: {main_fs: {sub_path: x}}", "fs_options.main_fs", ("name",)),
        ("fs_options: {main_fs: {name: x, read_only: true}}", "fs_options.main_fs.read_only", ("writable",)),
        ("fs_options: {main_fs: {name: x, sub_path: /x}}", "fs_options.main_fs.sub_path", ("'/x'",)),
        ("fs_options: {extra_fs: [{name: x, mount_path: /}]}", "fs_options.extra_fs[0].mount_path", ("'/'",)),
        ("env: {A: '{{p}}'}", "env.A", ("p", "system")),
    ],
)
def test_what_stands_at_the_top(more: str, path: str, words: tuple[str, ...]) -> None:
    only(steps("a: {}", more), path, *words)


def test_a_chain_of_references_may_come_last() -> None:
    text = "components: {c: {reference: {component: d}}, d: {command: x}}\n"
    assert steps("a: {}", f"{text}post_process: {{b: {{reference: {{component: c}}}}}}") == ()


@pytest.mark.parametrize(
    ("step", "path", "words"),
    [
        ("{artifacts: {output: [o]}}", "entry_points.a.artifacts", ("a has artifacts", "main_fs")),
        ("{results: {r: int}}", "entry_points.a.results", ("a has results", "main_fs")),
        ("{docker_env: ./x.tar}", "entry_points.a.docker_env", ("tar",)),
        ("{semaphores: gpu}", "entry_points.a.semaphores", ("'gpu'",)),
        ("{extra_fs: [{mount_path: /x}]}", "entry_points.a.extra_fs[0]", ("name",)),
        ("{cache: {fs_scope: [{name: attic}]}}", "entry_points.a.cache.fs_scope[0].name", ("attic", "a")),
    ],
)
def test_what_steps_may_say(step: str, path: str, words: tuple[str, ...]) -> None:
    only(steps(f"a: {step}"), path, *words)


def test_filesystems_of_a_step_may_decide_about_its_cache() -> None:
    assert steps("a: {cache: {fs_scope: [{name: attic}]}, extra_fs: [{name: attic}]}") == ()
    assert steps("a: {cache: {fs_scope: [{name: disk}]}}", filesystem="disk") == ()
    assert steps("a: {cache: {fs_scope: [{name: disk}]}}", filesystem="ann/disk") == ()
