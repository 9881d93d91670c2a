"""Parameters, artifacts, results and loops of the DSL, and what keeps them."""

from __future__ import annotations

import copy
from datetime import timedelta
from typing import Any

import pytest

from paddleflow.common.exception import PaddleFlowSDKException
from paddleflow.pipeline import DAG, Artifact, ContainerStep, Parameter, Result
from paddleflow.pipeline.dsl.io_types.placeholder import ArtifactPlaceholder, ParameterPlaceholder


def step(name: str = "cook", **given: Any) -> ContainerStep:
    return ContainerStep(name=name, **given)


@pytest.mark.parametrize(
    ("default", "kind", "named", "kept"),
    [
        (3, int, "int", 3),
        ("3", int, "int", 3),
        (3.0, "int", "int", 3),
        (0, str, "string", "0"),
        (2, float, "float", 2.0),
        ("a/b", "path", "path", "a/b"),
        ((1, 2), list, "list", [1, 2]),
        ("[1, 2]", list, "list", [1, 2]),
        (None, int, "int", None),
        ("x", None, None, "x"),
    ],
)
def test_a_default_becomes_one_of_the_type(default: object, kind: object, named: str | None, kept: object) -> None:
    parameter = Parameter(default, kind)
    assert (parameter.type, parameter.default) == (named, kept)


@pytest.mark.parametrize(
    ("default", "kind"),
    [("three", int), (1.5, int), (True, int), ("x", float), ("{}", list), ("x", list), (None, bool), (None, "number")],
)
def test_a_default_of_another_type_is_refused(default: object, kind: object) -> None:
    with pytest.raises(PaddleFlowSDKException, match="type"):
        Parameter(default, kind)


def test_a_parameter_belongs_to_who_it_is_put_into() -> None:
    oven = step(parameters={"heat": 200, "time": Parameter(30, int)})
    heat = oven.parameters["heat"]
    assert (heat.component, heat.name, heat.ref, heat.default) == (oven, "heat", 200, None)
    eat = step("eat", parameters={"warm": heat})
    assert eat.parameters["warm"].ref == heat
    assert eat.parameters["warm"].component is eat
    again = step("again", parameters={"warm": eat.parameters["warm"]})
    assert again.parameters["warm"].ref.ref == heat


def test_setting_a_default_replaces_what_it_referred_to() -> None:
    eat = step("eat", parameters={"warm": step(parameters={"heat": 1}).parameters["heat"]})
    eat.parameters["warm"].default = 7
    assert (eat.parameters["warm"].default, eat.parameters["warm"].ref) == (7, None)


def test_what_belongs_to_nobody_can_be_given_to_several() -> None:
    parameters, outputs = {"x": Parameter(1)}, {"out": Artifact()}
    one, two = (step(name, parameters=parameters, outputs=outputs) for name in ("one", "two"))
    assert (one.parameters["x"].component, two.parameters["x"].component) == (one, two)
    assert (one.outputs["out"].component, two.outputs["out"].component) == (one, two)


def test_values_are_equal_if_they_are_the_same_of_the_same() -> None:
    assert Parameter(1) == Parameter(1) != Parameter(2)
    assert Artifact() == Artifact()
    cook = step(parameters={"x": 1}, outputs={"out": Artifact()})
    for value in (cook.parameters["x"], cook.outputs["out"], Parameter(1, int), Artifact()):
        assert copy.deepcopy(value) == value
        assert copy.deepcopy(value) is not value
        assert value != "x"


def test_values_say_in_texts_whose_they_are() -> None:
    with DAG(name="kitchen") as kitchen:
        cook = step(parameters={"x": 1}, outputs={"out": Artifact()}, loop_argument=[1], results={"n": int})
    assert str(cook.parameters["x"]) == "{{parameter: kitchen.cook.x}}"
    assert str(cook.outputs["out"]) == "{{artifact: kitchen.cook.out}}"
    assert str(cook.results["n"]) == "{{result: kitchen.cook.n}}"
    assert str(cook.loop_argument.item) == "{{loop: kitchen.cook.PF_LOOP_ARGUMENT}}"
    assert kitchen.full_name == "kitchen"


@pytest.mark.parametrize("value", [Parameter(1), Artifact(), Result(int)])
def test_what_belongs_to_nobody_is_no_text(value: object) -> None:
    with pytest.raises(PaddleFlowSDKException, match="belongs to no step"):
        str(value)


@pytest.mark.parametrize("value", [{"a": 1}, (1, 2), True, object(), Artifact()])
def test_what_is_no_value_is_refused_as_a_parameter(value: object) -> None:
    with pytest.raises(PaddleFlowSDKException, match="cannot be"):
        step(parameters={"x": value})


def test_a_parameter_cannot_refer_to_another_of_the_same_step() -> None:
    cook = step(parameters={"x": 1})
    with pytest.raises(PaddleFlowSDKException, match="its own parameter x"):
        cook.parameters["y"] = cook.parameters["x"]


@pytest.mark.parametrize("name", ["1x", "a-b", "a b", "", "a" * 51, "x\n"])
def test_names_that_are_none_are_refused(name: str) -> None:
    other = step("other", outputs={"out": Artifact()})
    for given in ({"parameters": {name: 1}}, {"outputs": {name: Artifact()}}, {"inputs": {name: other.outputs["out"]}}):
        with pytest.raises(PaddleFlowSDKException, match="cannot be named"):
            step(**given)
    with pytest.raises(PaddleFlowSDKException, match="cannot be named"):
        step(results={name: int})


def test_inputs_are_artifacts_of_others() -> None:
    cook = step(outputs={"out": Artifact()})
    eat = step("eat", inputs={"in": cook.outputs["out"]})
    assert (eat.inputs["in"].ref, eat.inputs["in"].name) == (cook.outputs["out"], "in")
    for wrong in (Artifact(), "out", cook.outputs["out"]):
        with pytest.raises(PaddleFlowSDKException, match="artifact of another component"):
            cook.inputs["in"] = wrong  # type: ignore[assignment]


def test_outputs_of_steps_are_new_and_those_of_dags_are_not() -> None:
    cook, kitchen = step(outputs={"out": Artifact()}), DAG(name="kitchen")
    for wrong in (cook.outputs["out"], ArtifactPlaceholder("out", "cook"), "out"):
        with pytest.raises(PaddleFlowSDKException, match=r"Artifact\(\)"):
            cook.outputs["more"] = wrong  # type: ignore[assignment]
    kitchen.outputs["out"] = cook.outputs["out"]
    assert kitchen.outputs["out"].ref == cook.outputs["out"]
    with pytest.raises(PaddleFlowSDKException, match="one of a component in it"):
        kitchen.outputs["more"] = Artifact()


def test_every_way_to_put_something_in_is_looked_at() -> None:
    cook = step()
    cook.parameters.update({"a": 1}, b=2)
    assert cook.parameters.setdefault("c", 3).ref == 3
    assert cook.parameters.setdefault("c", 4).ref == 3
    assert [value.component for value in cook.parameters.values()] == [cook] * 3
    cook.parameters["d"] = ParameterPlaceholder("x", "other")
    assert cook.parameters["d"].ref.component_full_name == "other"


def test_a_name_that_is_not_there_is_told_with_those_that_are() -> None:
    cook = step(outputs={"pot": Artifact(), "lid": Artifact()})
    with pytest.raises(PaddleFlowSDKException, match="cook has no output artifact 'pott'; it has pot, lid"):
        cook.outputs["pott"]
    with pytest.raises(KeyError, match="cook has no parameter 'x'; it has none"):
        cook.parameters["x"]
    assert cook.parameters.get("x") is None
    assert "x" not in cook.results


def test_variables_are_texts() -> None:
    cook = step(env={"A": "1"}, parameters={"x": 1})
    cook.add_env({"B": cook.parameters["x"], "A": "2"})
    assert cook.env == {"A": "2", "B": "{{parameter: cook.x}}"}
    for name, wrong in (("C", 3), ("C", Artifact()), ("1C", "x")):
        with pytest.raises(PaddleFlowSDKException, match="variable"):
            cook.add_env({name: wrong})  # type: ignore[dict-item]


@pytest.mark.parametrize("argument", [[1, "a", 1.5, [2]], [], "[1, 2]", "{{items}}", "{{artifact: a.b}}"])
def test_lists_json_and_templates_can_be_repeated_for(argument: object) -> None:
    assert step(loop_argument=argument).loop_argument.argument == argument


@pytest.mark.parametrize(
    "argument", ["abc", '{"a": 1}', "[true]", [None], [{}], (1, 2), 3, Parameter(1), Artifact(), "x{{artifact: a.b}}"]
)
def test_nothing_else_can(argument: object) -> None:
    with pytest.raises(PaddleFlowSDKException, match="cannot be repeated for"):
        step(loop_argument=argument)


def test_a_step_cannot_be_repeated_for_its_own_items() -> None:
    cook = step(loop_argument=[1])
    for own in (cook.loop_argument.item, str(cook.loop_argument.item)):
        with pytest.raises(PaddleFlowSDKException, match="own loop"):
            cook.loop_argument = own


@pytest.mark.parametrize("kind", [str, int, float, bool, list, "int"])
def test_results_have_types(kind: object) -> None:
    assert step(results={"n": kind}).results["n"].compile() in ("string", "int", "float", "bool", "list")


@pytest.mark.parametrize("kind", [dict, "path", 3, None])
def test_other_types_of_results_are_refused(kind: object) -> None:
    with pytest.raises(PaddleFlowSDKException, match="no type of a result"):
        step(results={"n": kind})


@pytest.mark.parametrize(("time", "written"), [(5, 5), (1.5, 1.5), (2.0, 2), ("90", 90), ("1h30m", "1h30m")])
def test_times_are_seconds_or_words(time: Any, written: object) -> None:
    assert step(timeout=time).timeout == written
    assert step(pending_timeout=timedelta(seconds=3)).pending_timeout == 3


@pytest.mark.parametrize("time", ["", "5 minutes", "1.5h", -1, True])
def test_other_times_are_refused(time: Any) -> None:
    with pytest.raises(PaddleFlowSDKException, match="timeout of cook"):
        step(timeout=time)
