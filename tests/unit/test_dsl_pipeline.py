"""Pipelines: their settings, and how they get to a server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

import paddleflow
import paddleflow.pipeline
from paddleflow.auth.v1 import auth_pb2
from paddleflow.common.exception import PaddleFlowSDKException
from paddleflow.pipeline import DAG, ContainerStep, Parameter, Pipeline
from paddleflow.pipeline.dsl.utils.consts import ENTRY_POINT_NAME, PipelineDSLError
from paddleflow.pipeline.dsl.utils.util import validate_string_by_regex
from paddleflow.pipeline.v1 import pipeline_pb2, run_pb2
from support.fake_paddleflow import FakePaddleFlow
from support.fake_services import PASSWORD


@Pipeline(name="meal", docker_env="x")
def meal(rice: str = "red") -> None:
    """Cooks."""
    ContainerStep(name="cook", command="cook {{rice}}", parameters={"rice": rice})
    with DAG(name="PF"):
        ContainerStep(name="POINT", command="eat")


@pytest.fixture
def config(fake: FakePaddleFlow, plain_environment: None, tmp_path: Path) -> Path:
    lines = ["[user]", "name = root", f"password = {PASSWORD}", "[server]", f"paddleflow_server_host = {fake.address}"]
    file = tmp_path / "paddleflow.ini"
    file.write_text("\n".join([*lines, ""]))
    return file


def login(fake: FakePaddleFlow) -> str:
    with paddleflow.connect(fake.address, user="root", password=PASSWORD) as connected:
        return connected.tokens.log_in().secret


def test_a_run_is_asked_for_with_the_document(fake: FakePaddleFlow, config: Path) -> None:
    pipeline = meal("white")
    assert pipeline.run(str(config), "ada", "pantry", "lunch", "on monday") == (True, "run-000001")
    (asked,) = fake.world.asked(run_pb2.CreateRunRequest)
    assert (asked.source.filesystem, asked.owner) == ("pantry", "ada")
    assert (asked.name, asked.description) == ("lunch", "on monday")
    assert (list(asked.disabled), dict(asked.parameters)) == ([], {})
    assert yaml.safe_load(asked.source.document) == pipeline.compile()


def test_parameters_of_a_run_are_given_if_there_are_any(fake: FakePaddleFlow, config: Path) -> None:
    meal().run(config, param={"rice": "brown"})
    assert fake.world.asked(run_pb2.CreateRunRequest)[0].parameters["rice"].string_value == "brown"


@pytest.mark.parametrize(
    ("disabled", "said"),
    [
        (["PF.POINT"], ["PF.POINT"]),
        ([f"{ENTRY_POINT_NAME}.PF.POINT", "cook"], ["PF.POINT", "cook"]),
        (["PF"], ["PF"]),
        ("cook,PF", ["cook", "PF"]),
    ],
)
def test_names_that_are_disabled_keep_all_of_their_letters(
    fake: FakePaddleFlow, config: Path, disabled: Any, said: list[str]
) -> None:
    meal().run(config, disabled=disabled)
    assert list(fake.world.asked(run_pb2.CreateRunRequest)[0].disabled) == said


def test_steps_themselves_can_be_disabled(fake: FakePaddleFlow, config: Path) -> None:
    pipeline = meal()
    pipeline.run(config, disabled=[pipeline.entry_points["cook"]])
    assert list(fake.world.asked(run_pb2.CreateRunRequest)[0].disabled) == ["cook"]
    with pytest.raises(PaddleFlowSDKException, match=r"no bake to be disabled; it has PF, PF\.POINT, cook"):
        pipeline.run(config, disabled=["bake"])


def test_pipelines_are_registered_and_get_versions(fake: FakePaddleFlow, config: Path) -> None:
    pipeline = meal()
    ok, made = pipeline.create(config, "ada", "lunch")
    assert (ok, isinstance(made, dict) and made["pplID"]) == (True, "ppl-000001")
    ok, changed = pipeline.update("ppl-000001", config, "ada", "dinner")
    assert (ok, changed) == (True, {"pipelineID": "ppl-000001", "pipelineVersionID": "2"})
    (create,) = fake.world.asked(pipeline_pb2.CreatePipelineRequest)
    (update,) = fake.world.asked(pipeline_pb2.UpdatePipelineRequest)
    assert (create.pipeline.owner, create.pipeline.description) == ("ada", "lunch")
    assert (update.id, update.description) == ("ppl-000001", "dinner")
    assert yaml.safe_load(create.source.document) == yaml.safe_load(update.source.document) == pipeline.compile()


def test_a_token_of_the_configuration_is_enough(fake: FakePaddleFlow, config: Path) -> None:
    text = config.read_text()
    config.write_text(text.replace(f"password = {PASSWORD}", f"token = {login(fake)}"))
    assert meal().run(config) == (True, "run-000001")
    assert len(fake.world.asked(auth_pb2.LoginRequest)) == 1


def test_what_a_server_refuses_is_an_answer(fake: FakePaddleFlow, config: Path) -> None:
    fake.world.document_problems = [pipeline_pb2.Problem(path="name", message="is taken", line=1, column=7)]
    assert meal().run(config) == (False, "name: is taken (line 1, column 7)")


def test_who_cannot_log_in_is_told(fake: FakePaddleFlow, config: Path) -> None:
    config.write_text(config.read_text().replace(PASSWORD, "wrong"))
    with pytest.raises(PaddleFlowSDKException, match=r"root cannot log in at .*password is wrong"):
        meal().run(config)
    config.write_text("[user]\nname = root\n")
    with pytest.raises(PaddleFlowSDKException, match="neither a password nor a token"):
        meal().run(config)
    with pytest.raises(PaddleFlowSDKException, match="there is no file"):
        meal().run(config.parent / "none.ini")
    assert not fake.world.asked(run_pb2.CreateRunRequest)


def test_what_cannot_be_compiled_is_not_sent(fake: FakePaddleFlow, config: Path) -> None:
    with pytest.raises(PaddleFlowSDKException, match="no docker_env"):
        Pipeline(name="meal")(lambda: ContainerStep(name="cook", command="cook"))().run(config)
    with pytest.raises(PaddleFlowSDKException, match="has no steps: call the function"):
        Pipeline(name="meal").run(config)
    assert not fake.world.asked(run_pb2.CreateRunRequest)


def test_a_decorated_function_keeps_its_name_and_makes_new_pipelines() -> None:
    assert (meal.__name__, meal.__doc__) == ("meal", "Cooks.")
    one, two = meal(), meal(rice="wild")
    assert one is not two
    assert one.entry_points["cook"].parameters["rice"].ref == "red"
    assert two.entry_points["cook"].parameters["rice"].ref == "wild"
    one.add_env({"A": "1"})
    one.name = "lunch"
    assert (two.env, two.name) == ({}, "meal")


def test_a_decorator_hands_its_settings_on() -> None:
    decorator = Pipeline(name="meal", parallelism=2, env={"A": "1"}, semaphores={"pot": 1}, notify=[{"command": "x"}])
    mail, bye = ContainerStep(name="mail", docker_env="x"), ContainerStep(name="bye", docker_env="x")
    decorator.set_post_process(mail)
    decorator.add_exit_handler(bye, "succeeded")
    made = decorator(lambda: ContainerStep(name="cook", docker_env="x"))()
    assert (made.parallelism, made.env, made.semaphores) == (2, {"A": "1"}, {"pot": 1})
    assert made.get_post_process() is mail
    assert made.exit_handlers == ((bye, "succeeded"),)
    assert made.compile()["on_exit"] == {"bye": {"docker_env": "x", "env": {"A": "1"}, "when": "succeeded"}}
    assert (decorator.entry_points, decorator.root) == ({}, None)


def test_there_is_one_step_of_post_process() -> None:
    pipeline = meal()
    assert pipeline.get_post_process() is None
    first, second = (ContainerStep(name=name, command="x") for name in ("first", "second"))
    pipeline.set_post_process(first)
    pipeline.set_post_process(second)
    assert pipeline.get_post_process() is second
    for wrong in (DAG(name="a"), "first"):
        with pytest.raises(PaddleFlowSDKException, match="has to be a step"):
            pipeline.set_post_process(wrong)  # type: ignore[arg-type]
    with pytest.raises(PaddleFlowSDKException, match="always, succeeded, failed"):
        pipeline.add_exit_handler(first, "sometimes")


@pytest.mark.parametrize("name", ["1a", "a b", "", "a" * 129, None])
def test_names_of_pipelines_are_checked(name: Any) -> None:
    with pytest.raises(PaddleFlowSDKException, match="a pipeline cannot be named") as refused:
        Pipeline(name=name)
    assert (refused.value.code, refused.value.get_request_id()) == (PipelineDSLError, None)
    pipeline = Pipeline(name="meal")
    with pytest.raises(PaddleFlowSDKException, match="a pipeline cannot be named"):
        pipeline.name = name


@pytest.mark.parametrize("parallelism", [0, -1, True])
def test_parallelism_is_at_least_one(parallelism: int) -> None:
    with pytest.raises(PaddleFlowSDKException, match="at least 1"):
        Pipeline(name="meal", parallelism=parallelism)


def test_variables_of_a_pipeline_are_texts() -> None:
    pipeline = Pipeline(name="meal", env={"A": "1"})
    pipeline.add_env({"B": "2", "A": "3"})
    assert pipeline.env == {"A": "3", "B": "2"}
    for name, value in (("C", 3), ("1C", "x"), ("C", Parameter(1))):
        with pytest.raises(PaddleFlowSDKException):
            pipeline.add_env({name: value})  # type: ignore[dict-item]
    with pytest.raises(AttributeError):
        pipeline.env = {}  # type: ignore[misc,assignment]


def test_documents_are_written_where_they_should_be(tmp_path: Path) -> None:
    pipeline = meal("größer")
    for name in ("new/folder/run.yaml", "run.yml", "run.json"):
        document = pipeline.compile(str(tmp_path / name))
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert "größer" in text
        assert (json.loads(text) if name.endswith("json") else yaml.safe_load(text)) == document
    with pytest.raises(PaddleFlowSDKException, match=r"\.yaml, \.yml or \.json"):
        pipeline.compile(tmp_path / "run.txt")


def test_commands_of_several_lines_stay_readable(tmp_path: Path) -> None:
    command = "cd /data\nfor each in *; do\n  wc $each\ndone\n"
    lines = Pipeline(name="meal", docker_env="x")(lambda: ContainerStep(name="cook", command=command))()
    lines.compile(tmp_path / "run.yaml")
    assert "    command: |\n      cd /data\n      for each in *; do\n" in (tmp_path / "run.yaml").read_text()


def test_a_value_in_two_places_is_written_twice(tmp_path: Path) -> None:
    items = [1, [2, 3]]

    @Pipeline(name="meal", docker_env="x")
    def twice() -> None:
        for name in ("one", "two"):
            ContainerStep(name=name, command="x", loop_argument=items)

    twice().compile(tmp_path / "run.yaml")
    assert not {"&", "*"} & set((tmp_path / "run.yaml").read_text())


def test_all_names_of_the_original_are_there() -> None:
    names = [
        *(
            "Pipeline",
            "ContainerStep",
            "DAG",
            "Artifact",
            "Parameter",
            "CacheOptions",
            "FSScope",
            "FSOptions",
            "MainFS",
        ),
        *("ExtraFS", "FailureOptions", "FAIL_FAST", "FAIL_CONTINUE"),
        *("PF_RUN_ID", "PF_STEP_NAME", "PF_USER_NAME", "PF_LOOP_ARGUMENT"),
    ]
    assert set(names) <= set(dir(paddleflow.pipeline))
    for name in names:
        assert getattr(paddleflow.pipeline, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        paddleflow.pipeline.Nothing  # type: ignore[attr-defined]  # noqa: B018 -- asking is the test
    assert validate_string_by_regex("abc", "^a")


def test_the_stubs_load_nothing_of_the_dsl_and_the_dsl_no_yaml() -> None:
    code = """
import sys
import paddleflow.pipeline.v1.run_pb2
assert not [name for name in sys.modules if name.startswith("paddleflow.pipeline.dsl")]
from paddleflow.pipeline import Pipeline
assert "yaml" not in sys.modules and "grpc" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ)


def test_users_programs_are_typed(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "from paddleflow.pipeline import Artifact, ContainerStep, DAG, Pipeline\n"
        "@Pipeline(name='a', docker_env='x')\n"
        "def a(n: int) -> None:\n"
        "    one = ContainerStep(name='one', outputs={'o': Artifact()}, parameters={'n': n})\n"
        "    with DAG(name='d', loop_argument=one.outputs['o']) as d:\n"
        "        two = ContainerStep(name='two', command=f'{d.loop_argument.item}').after(one)\n"
        "        two.inputs['i'] = one.outputs['o']\n"
        "        two.parameters['n'] = one.parameters['n']\n"
        "reveal_type(a(1).compile())\n"
        "a('one')\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path), str(program)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 3, done.stdout
    assert "Revealed type is" in lines[0]
    assert 'program.py:10: error: Argument 1 to "a" has incompatible type "str"; expected "int"' in lines[1]
