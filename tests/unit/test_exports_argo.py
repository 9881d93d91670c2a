"""Workflows for Argo: what each thing becomes, what differs, and that nothing is taken for one of Argo's templates."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from paddleflow.problems import NotExportable
from pf_pipeline.documents.reading import read
from pf_pipeline.exports.exporting import exported
from pf_pipeline.pipelines.ports import Exported, Fidelity, Target
from pf_pipeline.plans.planning import plan
from pf_pipeline.plans.requests import Request


def export(text: str, *, strict: bool = False) -> Exported:
    return exported(plan(read(text), Request()), Target.ARGO, strict=strict)


def workflow(text: str) -> Any:
    return yaml.safe_load(export(text).text)


def templates(text: str) -> dict[str, Any]:
    return {each["name"]: each for each in workflow(text)["spec"]["templates"]}


def tasks(text: str, template: str = "main") -> dict[str, Any]:
    return {each["name"]: each for each in templates(text)[template]["dag"]["tasks"]}


def given(task: Any) -> dict[str, str]:
    return {each["name"]: each["value"] for each in task["arguments"]["parameters"]}


SOUP = """
name: Hot_soup
docker_env: pot:1
parallelism: 3
failure_options: {strategy: continue}
fs_options: {main_fs: {name: pantry, mount_path: /food}}
entry_points:
  peel-:
    command: "peel {{what}} {{ peels }} {{PF_RUN_ID}}"
    parameters: {what: carrots}
    env: {KNIFE: "{{what}}"}
    artifacts: {output: [peels]}
  boil:
    deps: peel-
    command: "boil {{item}} {{in}}"
    loop_argument: [[1, 2], hot]
    parameters: {item: "{{PF_LOOP_ARGUMENT}}", what: "{{peel-.what}}", mine: "{{PF_STEP_NAME}}"}
    artifacts: {input: {in: "{{peel-.peels}}"}, output: [pot]}
  serve:
    deps: boil
    command: serve
    condition: "{{how}} != cold && '{{what}}' == 'carrots'"
    parameters: {how: hot, what: "{{boil.what}}"}
    artifacts: {input: {pots: "{{boil.pot}}"}}
"""


def test_a_workflow_has_the_names_that_kubernetes_takes() -> None:
    made = workflow(SOUP)
    assert made["metadata"]["generateName"] == "hot-soup-"
    assert made["spec"]["parallelism"] == 3
    assert made["spec"]["volumes"] == [{"name": "pantry", "persistentVolumeClaim": {"claimName": "pantry"}}]
    assert export(SOUP).file_name == "Hot_soup.yaml"
    assert templates(SOUP)["main"]["dag"]["failFast"] is False


def test_a_step_is_a_container() -> None:
    peel = templates(SOUP)["peel"]
    container = peel["container"]
    assert container["image"] == "pot:1"
    assert container["workingDir"] == "/food"
    assert container["args"] == [
        'mkdir -p "$PF_FOLDER"\npeel {{inputs.parameters.what}} {{inputs.parameters.pf-at}}/peels {{workflow.name}}'
    ]
    env = {each["name"]: each["value"] for each in container["env"]}
    assert env["KNIFE"] == "{{inputs.parameters.what}}"
    assert env["PF_STEP_NAME"] == "peel-"
    assert env["PF_OUTPUT_ARTIFACT_PEELS"] == "{{inputs.parameters.pf-at}}/peels"


def test_tasks_wait_for_others_and_are_given_what_they_refer_to() -> None:
    boil, serve = tasks(SOUP)["boil"], tasks(SOUP)["serve"]
    assert boil["depends"] == "peel"
    assert boil["withItems"] == [{"seq": "0", "value": "[1 2]"}, {"seq": "1", "value": "hot"}]
    assert serve["when"] == "hot != cold && 'carrots' == 'carrots'"
    at = "/food/.pipeline/{{workflow.name}}/Hot_soup"
    assert given(boil) == {
        "item": "{{item.value}}",
        "what": "carrots",
        "mine": "boil",
        "in": f"{at}/peel--0/peels",
        "pf-at": f"{at}/boil-{{{{item.seq}}}}",
        "pf-item": "{{item.value}}",
    }
    assert given(serve)["pots"] == f"{at}/boil-0/pot,{at}/boil-1/pot"


def test_names_of_templates_do_not_collide() -> None:
    text = """
name: n
entry_points:
  a-b: {command: one}
  a: {entry_points: {b: {command: two}, b-: {command: three}}}
"""
    made = templates(text)
    assert [each["container"]["args"][0] for each in made.values() if "container" in each] == ["one", "two", "three"]
    assert set(tasks(text, "a")) == {"b", "b-2"}


def test_a_loop_over_a_file_reads_it_first() -> None:
    text = SOUP.replace("loop_argument: [[1, 2], hot]", 'loop_argument: "{{in}}"')
    text += """  weigh:
    deps: peel-
    command: weigh
    condition: "{{in}} != x"
    artifacts: {input: {in: "{{peel-.peels}}"}}
"""
    made = tasks(text)
    items = "fromJSON(tasks['boil-reads-in'].outputs.parameters.text)"
    assert made["boil"]["withSequence"] == {"count": f"{{{{=len({items})}}}}"}
    assert made["boil"]["depends"] == "peel && boil-reads-in"
    assert made["weigh"]["when"] == "{{tasks.weigh-reads-in.outputs.parameters.text}} != x"
    assert given(made["boil"])["pf-item"] == f"{{{{=string({items}[asInt(item)])}}}}"
    assert given(made["serve"])["pots"].startswith("{{=join(map(0..(")
    assert given(made["boil-reads-in"])["file"].endswith("/peel--0/peels")


def test_the_rest_has_its_counterpart_too() -> None:
    text = """
name: rest
fs_options: {main_fs: {name: pantry}}
semaphores: {oven: 2}
entry_points:
  a:
    command: one
    docker_env: i:1
    retry: {limit: 2, backoff: 5s, max_backoff: 1m, not_on: [3]}
    timeout: 90
    semaphores: oven
    approval: {users: [ada]}
    results: {n: {type: int, default: 4}}
  b: {command: "two {{n}}", deps: a, docker_env: i:1, parameters: {n: "{{a.n}}"}}
  c: {command: three, docker_env: i:1}
disabled: c
post_process: {last: {command: four, docker_env: i:1}}
on_exit: {cry: {command: five, docker_env: i:1, when: failed}}
"""
    made = templates(text)
    assert made["a"]["retryStrategy"] == {
        "limit": "2",
        "retryPolicy": "OnFailure",
        "backoff": {"duration": "5s", "factor": 2, "cap": "60s"},
        "expression": "!(asInt(lastRetry.exitCode) in [3])",
    }
    assert made["a"]["activeDeadlineSeconds"] == 90
    assert made["a"]["synchronization"]["semaphores"][0]["configMapKeyRef"]["key"] == "oven"
    assert made["a"]["outputs"]["parameters"] == [{"name": "n", "valueFrom": {"path": "/tmp/pf-results/n", "default": "4"}}]  # fmt: skip  # noqa: S108, E501
    assert tasks(text)["a"]["depends"] == "a-approval"
    assert given(tasks(text)["b"])["n"] == "{{tasks.a.outputs.parameters.n}}"
    assert tasks(text)["c"]["when"] == "false"
    assert tasks(text, "at-the-end")["cry"]["when"] == "{{workflow.status}} != Succeeded"
    assert "when" not in tasks(text, "at-the-end")["last"]


@pytest.mark.parametrize(
    "fields",
    [
        'command: "echo {{=1}} {{ a b }}"',
        'command: say, env: {X: "{{=1+1}}"}',
        'command: "say {{p}}", parameters: {p: "{{=inputs.x}}"}',
        'command: say, docker_env: "{{=x}}"',
        'command: say, loop_argument: ["{{=sprig.env()}}"]',
        "command: say, condition: \"'{{=1}}' == a\"",
    ],
)
def test_what_argo_would_take_for_its_own_template_is_refused(fields: str) -> None:
    with pytest.raises(NotExportable, match="two braces"):
        export(f"name: n\nentry_points:\n  a: {{{fields}}}\n")


def test_yaml_cannot_be_broken_out_of() -> None:
    text = 'name: n\nentry_points:\n  a: {command: "x\\n  - name: y\\n---\\nkind: Secret\\n# \'\\"", env: {X: "yes"}}\n'
    (only,) = yaml.safe_load_all(export(text).text)
    (step,) = (each for each in only["spec"]["templates"] if "container" in each)
    assert step["container"]["args"] == ["x\n  - name: y\n---\nkind: Secret\n# '\""]
    assert step["container"]["env"][0] == {"name": "X", "value": "yes"}


def test_quotes_in_folders_do_not_reach_expressions() -> None:
    text = SOUP.replace("loop_argument: [[1, 2], hot]", 'loop_argument: "{{in}}"')
    text = text.replace("mount_path: /food", """mount_path: '/fo"+x+"od'""")
    assert r""""/fo\"+x+\"od/.pipeline/" + workflow.name""" in given(tasks(text)["serve"])["pots"]


def test_what_is_exact_is_not_in_the_report() -> None:
    text = """
name: exact
docker_env: pot:1
failure_options: {strategy: continue}
entry_points:
  peel: {command: "peel {{what}} $PF_RUN_ID", parameters: {what: carrots}}
  boil: {deps: peel, entry_points: {stir: {command: stir, condition: "1 < 2"}}}
post_process: {wash: {command: wash}}
"""
    assert export(text, strict=True).differences == ()


def test_strict_refuses_what_is_not_exact() -> None:
    with pytest.raises(NotExportable, match="fs_options"):
        export(SOUP, strict=True)
    lost = {each.path: each.fidelity for each in export(SOUP.replace("command: serve", "command: serve\n    cache: {enable: true}")).differences}  # fmt: skip  # noqa: E501
    assert lost["entry_points.serve.cache"] is Fidelity.LOST
    assert lost["fs_options.main_fs"] is Fidelity.EMULATED
