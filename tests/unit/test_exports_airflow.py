"""Programs for Airflow: nothing that somebody wrote becomes a part of one, and what differs is told."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from paddleflow.problems import NotExportable
from pf_pipeline.documents.reading import read
from pf_pipeline.exports.airflow.programs import MARK, PROGRAM
from pf_pipeline.exports.exporting import exported
from pf_pipeline.pipelines.ports import Exported, Fidelity, Target
from pf_pipeline.plans.planning import plan
from pf_pipeline.plans.requests import Request

HOSTILE = (
    '"""\nimport os; os.system("touch /tmp/pwned")\n"""',
    "'); __import__('os').system('id') #",
    "{{ conn.secret.password }} {% raw %}",
    f"{MARK}\nPIPELINE = 1",
    "\\x27 \\N{BULLET} \u2028\u202e\r\n\t",
    "{'a': 1}.__class__",
)
GREETING = """
name: greeting
failure_options: {strategy: continue}
entry_points:
  hello: {command: say}
"""


def export(text: str, *, strict: bool = False) -> Exported:
    return exported(plan(read(text), Request()), Target.AIRFLOW, strict=strict)


def pipeline_in(program: str) -> Any:
    """What the only literal of a program says; the rest must be the same as ever."""
    tree = ast.parse(program)
    plain = ast.parse(PROGRAM.replace(MARK, "PIPELINE = 0"))
    found: list[Any] = []
    for statement, usual in zip(tree.body, plain.body, strict=True):
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "PIPELINE":
            found.append(ast.literal_eval(statement.value))
        else:
            assert ast.dump(statement) == ast.dump(usual)
    (told,) = found
    return told


@pytest.mark.parametrize("text", HOSTILE)
def test_whatever_people_write_stays_data(text: str) -> None:
    same = quoted(text)
    fields = f"command: {same}, env: {{X: {same}}}, parameters: {{p: {same}}}, approval: {{message: {same}}}"
    document = read(f"name: greeting\nentry_points: {{hello: {{{fields}}}}}")
    found = pipeline_in(exported(plan(document, Request()), Target.AIRFLOW, strict=False).text)
    hello = found["children"]["hello"]
    assert hello["command"] == hello["env"]["X"] == hello["parameters"]["p"] == hello["approval"]["message"] == text


def quoted(text: str) -> str:
    """As YAML has it in double quotes."""
    return '"' + "".join(letter if letter.isalnum() else f"\\U{ord(letter):08x}" for letter in text) + '"'


def test_a_program_says_what_the_plan_says() -> None:
    made = export(GREETING)
    assert made.file_name == "greeting.py"
    assert pipeline_in(made.text)["children"]["hello"]["command"] == "say"
    assert made == export(GREETING)


def test_what_is_exact_is_not_in_the_report() -> None:
    assert export(GREETING, strict=True).differences == ()
    (found,) = export(GREETING.replace("command: say", 'command: "say {{PF_USER_NAME}}"')).differences
    assert (found.path, found.fidelity) == ("PF_USER_NAME", Fidelity.EMULATED)


def test_it_stops_at_the_first_failure_only_where_airflow_can() -> None:
    assert pipeline_in(export(GREETING).text)["fail_fast"] is False
    fast = GREETING.replace("continue", "fail_fast")
    assert pipeline_in(export(fast).text)["fail_fast"] is True
    skipping = export(fast.replace("command: say", 'command: say, condition: "1 < 2"'))
    assert pipeline_in(skipping.text)["trigger_rule"] == "none_failed"
    (lost,) = (each for each in skipping.differences if each.fidelity is Fidelity.LOST)
    assert lost.path == "failure_options.strategy"


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ("docker_env: pot:1", "docker_env"),
        ("cache: {enable: true}", "cache"),
        ("pending_timeout: 5m", "pending_timeout"),
        ("semaphores: [oven, sink]", "semaphores"),
        ("env: {PF_JOB_FLAVOUR: big}", "env.PF_JOB_FLAVOUR"),
        ("extra_fs: [{name: cellar}]", "extra_fs"),
    ],
)
def test_what_is_lost_is_told(fields: str, path: str) -> None:
    text = GREETING.replace("command: say", f"command: say, {fields}") + "semaphores: {oven: 1, sink: 1}\n"
    lost = {each.path for each in export(text).differences if each.fidelity is Fidelity.LOST}
    assert lost == {f"entry_points.hello.{path}"}
    with pytest.raises(NotExportable) as refused:
        export(text, strict=True)
    assert f"entry_points.hello.{path}" in {violation.field for violation in refused.value.violations}


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ('condition: "a =~ b"', "only comparisons"),
        ('condition: "1 + 1 == 2"', "only comparisons"),
        ("job: {framework: paddle, members: [{role: worker, replicas: 2}]}", "more than one process"),
    ],
)
def test_what_cannot_be_is_refused(fields: str, why: str) -> None:
    with pytest.raises(NotExportable, match=why):
        export(GREETING.replace("command: say", f"command: say, {fields}"))


def test_loops_in_loops_are_refused() -> None:
    text = """
name: greeting
entry_points:
  all:
    loop_argument: [1, 2]
    entry_points:
      hello: {command: say, loop_argument: [1]}
"""
    with pytest.raises(NotExportable, match=r"all\.entry_points\.hello\.loop_argument"):
        export(text)


def test_long_lists_are_told() -> None:
    text = GREETING.replace("command: say", f"command: say, loop_argument: {list(range(1025))}")
    assert [each for each in export(text).differences if "max_map_length" in each.message]
