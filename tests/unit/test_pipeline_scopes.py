"""Who may refer to what, and how it is told if somebody cannot."""

from __future__ import annotations

import pytest

from support.documents import problems, steps

DISK = "fs_options: {main_fs: {name: disk}}"

GARDEN = f"""
{DISK}
entry_points:
  dig:
    command: "dig {{{{deep}}}} > {{{{hole}}}} # {{{{ PF_RUN_ID }}}} {{{{PF_STEP_NAME}}}} {{{{.Names | upper}}}}"
    parameters: {{deep: 1, who: "{{{{PF_USER_NAME}}}} in {{{{PF_RUN_ID}}}}"}}
    env: {{DEEP: "{{{{deep}}}}", WHO: "{{{{PF_USER_NAME}}}}"}}
    artifacts: {{output: [hole]}}
    results: {{wide: float}}
  plant:
    deps: dig
    parameters: {{deep: "{{{{dig.deep}}}}", text: "w{{{{ dig.wide }}}}", rows: [1, 2]}}
    artifacts: {{input: {{bed: "{{{{dig.hole}}}}"}}, output: {{tree: "{{{{grow.tree}}}}"}}}}
    condition: "{{{{deep}}}} > 0 && {{{{bed}}}} != '' && {{{{PF_LOOP_ARGUMENT}}}} > 0"
    loop_argument: "{{{{rows}}}}"
    entry_points:
      grow:
        command: "grow {{{{bed}}}} {{{{row}}}} > {{{{tree}}}}"
        parameters: {{deep: "{{{{PF_PARENT.deep}}}}", row: "r{{{{PF_PARENT.PF_LOOP_ARGUMENT}}}}"}}
        artifacts: {{input: {{bed: "{{{{PF_PARENT.bed}}}}"}}, output: [tree]}}
        loop_argument: "{{{{bed}}}}"
        job: {{members: [{{role: worker, replicas: "{{{{deep}}}}", args: ["{{{{bed}}}}"]}}]}}
"""


def test_all_that_may_be_said() -> None:
    """A DAG with a condition may hand artifacts down to what is in it."""
    assert problems(GARDEN) == ()


@pytest.mark.parametrize(
    ("a", "words"),
    [
        ("{{PF_RUN_IDS}}", ("p of a", "PF_RUN_IDS", "did you mean PF_RUN_ID?")),
        ("{{PF_FS_ID}}", ("PF_FS_ID", "does not exist any more")),
        ("{{PF_FS_NAME}}", ("PF_FS_NAME",)),
        ("{{ q }}", ("q", "parameters of one component")),
        ("{{.x}}", (".x", "no such variable")),
        ("{{z.p}}", ("z.p", "deps of a", "no such component")),
        ("{{b.p}}", ("b.p", "b is not in deps of a; add it")),
        ("{{c.none}}", ("c.none", "c has no parameter none")),
        ("{{c.value}}", ("c has no parameter value", "did you mean values?")),
        ("{{c.o}}", ("c has no parameter o",)),
        ("{{c.values.more}}", ("'{{c.values.more}}'", "one dot")),
        ("{{PF_PARENT.p}}", ("PF_PARENT.p", "at the top")),
        ("{{PF_LOOP_ARGUMENT}}", ("a has no loop_argument",)),
        ("x{{ no-name }}y", ("no-name",)),
    ],
)
def test_what_parameters_cannot_refer_to(a: str, words: tuple[str, ...]) -> None:
    text = f"""
{DISK}
entry_points:
  c: {{parameters: {{values: 1}}, artifacts: {{output: [o]}}}}
  b: {{deps: a, parameters: {{p: 1}}}}
  a: {{deps: c, parameters: {{q: 1, p: "{a}"}}}}
"""
    (problem,) = problems(text)
    assert (problem.path, problem.line) == ("entry_points.a.parameters.p", 7)
    assert [word for word in words if word not in problem.message] == []


@pytest.mark.parametrize(
    ("parameter", "words"),
    [
        ("{{PF_PARENT.none}}", ("d has no parameter none",)),
        ("{{PF_PARENT.bed}}", ("bed is an artifact of d",)),
        ("{{PF_PARENT.PF_LOOP_ARGUMENT}}", ("d has no loop_argument",)),
        ("{{PF_PARENT.PF_RUN_ID}}", ("d has no parameter PF_RUN_ID",)),
        ("{{a.o}}", ("a is not in deps of s",)),
    ],
)
def test_what_is_not_handed_down(parameter: str, words: tuple[str, ...]) -> None:
    text = f"""
{DISK}
entry_points:
  a: {{artifacts: {{output: [o]}}}}
  d:
    deps: a
    artifacts: {{input: {{bed: "{{{{a.o}}}}"}}}}
    entry_points: {{s: {{parameters: {{p: "{parameter}"}}}}}}
"""
    (problem,) = problems(text)
    assert problem.path == "entry_points.d.entry_points.s.parameters.p"
    assert [word for word in words if word not in problem.message] == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("word", ("i of b", "exactly one template", "'word'")),
        ("", ("i of b", "''")),
        ("{{o}}", ("i of b", "'{{o}}'")),
        ("{{a.o}}/x", ("i of b", "exactly one template")),
        ("{{a.o}}{{a.o}}", ("exactly one template",)),
        ("{{a.none}}", ("a.none", "a has no output artifact none")),
        ("{{a.p}}", ("a has no output artifact p",)),
        ("{{c.o}}", ("c is not in deps of b",)),
        ("{{e.o}}", ("e has a condition", "skipped")),
        ("{{PF_PARENT.i}}", ("at the top",)),
    ],
)
def test_what_inputs_cannot_be(text: str, words: tuple[str, ...]) -> None:
    said = f"""
{DISK}
entry_points:
  a: {{parameters: {{p: 1}}, artifacts: {{output: [o]}}}}
  c: {{artifacts: {{output: [o]}}}}
  e: {{condition: 1 > 0, artifacts: {{output: [o]}}}}
  b: {{deps: "a,e", artifacts: {{input: {{i: "{text}"}}}}}}
"""
    (problem,) = problems(said)
    assert problem.path == "entry_points.b.artifacts.input.i"
    assert [word for word in words if word not in problem.message] == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x", ("r of d", "exactly one template")),
        ("{{PF_PARENT.i}}", ("d does not consist of PF_PARENT",)),
        ("{{none.o}}", ("d does not consist of none",)),
        ("{{s.none}}", ("s has no output artifact none",)),
        ("{{t.o}}", ("t has a condition",)),
    ],
)
def test_what_outputs_of_dags_cannot_be(text: str, words: tuple[str, ...]) -> None:
    children = "{s: {artifacts: {output: [o]}}, t: {condition: 1 > 0, artifacts: {output: [o]}}}"
    (problem,) = steps(f"d: {{artifacts: {{output: {{r: '{text}'}}}}, entry_points: {children}}}", DISK)
    assert problem.path == "entry_points.d.artifacts.output.r"
    assert [word for word in words if word not in problem.message] == []


@pytest.mark.parametrize(
    ("said", "path", "words"),
    [
        ("command: '{{b.p}}'", "command", ("command of a", "b.p")),
        ("command: '{{none}}'", "command", ("none",)),
        ("command: '{{parm}}'", "command", ("did you mean parameter?",)),
        ("command: '{{PF_LOOP_ARGUMENT}}'", "command", ("no loop_argument",)),
        ("env: {E: '{{o}}'}", "env.E", ("variable E of a", "o", "own parameters and variables of the system only")),
        ("env: {E: '{{PF_PARENT.x}}'}", "env.E", ("PF_PARENT.x",)),
        ("job: {members: [{args: ['{{none}}']}]}", "job.members[0].args[0]", ("job of a", "none")),
        ("condition: '{{o}} > 1'", "condition", ("condition of a", "o", "input artifacts")),
        ("condition: '{{parameter}} >'", "condition", ("condition of a is no expression", "character")),
        ("condition: 1 = 1", "condition", ("no expression",)),
        ("loop_argument: '{{o}}'", "loop_argument", ("loop_argument of a", "o")),
        ("loop_argument: '{{parameter}}x'", "loop_argument", ("one template and nothing else",)),
        ("loop_argument: '{{PF_RUN_ID}}'", "loop_argument", ("PF_RUN_ID",)),
        ("loop_argument: word", "loop_argument", ("'word'", "a list, JSON of one, or one template")),
        ("loop_argument: '{\"a\": 1}'", "loop_argument", ("a list",)),
        ("loop_argument: '[1'", "loop_argument", ("a list",)),
        ("loop_argument: [1, '{{parameter}}']", "loop_argument[1]", ("'{{parameter}}'", "plain values")),
        ("loop_argument: [[true]]", "loop_argument[0][0]", ("true", "numbers, texts and lists")),
        ("loop_argument: '[1, null]'", "loop_argument[1]", ("null",)),
    ],
)
def test_what_texts_cannot_refer_to(said: str, path: str, words: tuple[str, ...]) -> None:
    text = f"a: {{parameters: {{parameter: 1}}, artifacts: {{output: [o]}}, {said}}}"
    (problem,) = steps(text, DISK)
    assert problem.path in (f"entry_points.a.{path}", "entry_points.a.loop_argument")
    assert [word for word in words if word not in problem.message] == []


def test_a_loop_cannot_be_about_its_own_items() -> None:
    (problem,) = steps("a: {parameters: {l: '{{PF_LOOP_ARGUMENT}}'}, loop_argument: '{{l}}'}")
    assert problem.path == "entry_points.a.loop_argument"
    assert "itself refers to PF_LOOP_ARGUMENT" in problem.message


def test_what_nobody_refers_to_is_looked_at_as_far_as_possible() -> None:
    component = "{parameters: {p: '{{PF_PARENT.x}}{{far.y}}'}, artifacts: {input: {i: ''}}, command: '{{nothing}}'}"
    (problem,) = problems(f"{DISK}\ncomponents: {{c: {component}}}\nentry_points: {{a: {{}}}}")
    assert problem.path == "components.c.command"


def test_components_see_what_is_around_their_copies() -> None:
    text = """
components: {c: {parameters: {p: "{{PF_PARENT.x}}", q: "{{b.y}}"}}}
entry_points:
  d: {parameters: {x: 1}, entry_points: {b: {parameters: {y: 1}}, s: {deps: b, reference: {component: c}}}}
"""
    assert problems(text) == ()
    found = problems(text.replace("x: 1", "w: 1").replace("deps: b, ", ""))
    assert [(problem.path, problem.line) for problem in found] == [
        ("components.c.parameters.p", 3),
        ("components.c.parameters.q", 3),
    ]


@pytest.mark.parametrize(
    ("disabled", "path", "words"),
    [
        ("b", "", ()),
        ("a,b", "", ()),
        ("a", "entry_points.b", ("b uses a",)),
        ("c", "entry_points.d", ("d uses c",)),
        ("d.s", "entry_points.d.artifacts.output.r", ("r of d", "s")),
        ("d", "", ()),
        ("d,d.s", "", ()),
        ("d.none", "disabled", ("'d.none'",)),
        ("s", "disabled", ("'s'",)),
    ],
)
def test_what_is_used_cannot_be_disabled(disabled: str, path: str, words: tuple[str, ...]) -> None:
    text = f"""
{DISK}
entry_points:
  a: {{parameters: {{p: 1}}}}
  b: {{deps: a, parameters: {{p: "{{{{a.p}}}}"}}}}
  c: {{artifacts: {{output: [o]}}}}
  d:
    deps: c
    artifacts: {{input: {{i: "{{{{c.o}}}}"}}, output: {{r: "{{{{s.o}}}}"}}}}
    entry_points: {{s: {{artifacts: {{output: [o]}}}}}}
"""
    asked = (disabled,), tuple(disabled.split(","))
    for found in (problems(f"{text}disabled: '{disabled}'\n"), *(problems(text, disabled=each) for each in asked)):
        assert [problem.path for problem in found] == ([path] if path else [])
        assert all(word in problem.message for word in words for problem in found)


@pytest.mark.parametrize(
    ("asked", "path", "words"),
    [
        ({"parameters": {"q": 1}}, "parameters.q", ("'q'", "any component")),
        ({"parameters": {"a.q": 1}}, "parameters.a.q", ("'a.q'", "one of a")),
        ({"parameters": {"z": {"p": 1}}}, "parameters.z.p", ("'z.p'",)),
        ({"parameters": {"p": None}}, "parameters.p", ("parameter p", "needs a value")),
        ({"parameters": {"p": "{{b.q}}"}}, "entry_points.a.parameters.p", ("b.q",)),
        ({"docker_env": "a.tar"}, "docker_env", ("tar",)),
        ({"filesystem": "other"}, "fs_options.main_fs.name", ("main_fs is 'disk'", "'other'")),
        ({"filesystem": "ann/disk"}, "", ()),
        ({"parameters": {"a": {"p": 1}}}, "", ()),
    ],
)
def test_requests(asked: dict[str, object], path: str, words: tuple[str, ...]) -> None:
    found = steps("a: {parameters: {p: 1}}", DISK, **asked)
    assert [problem.path for problem in found] == ([path] if path else [])
    assert all(word in problem.message for word in words for problem in found)
