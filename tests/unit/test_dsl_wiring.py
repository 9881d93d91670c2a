"""What components use of one another reaches them, however far they are from one another."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from paddleflow.common.exception import PaddleFlowSDKException
from paddleflow.pipeline import DAG, PF_LOOP_ARGUMENT, Artifact, ContainerStep, FSOptions, MainFS, Parameter, Pipeline
from paddleflow.pipeline.dsl.io_types import ArtifactPlaceholder, ParameterPlaceholder
from support.pipeline_graphs import Seen, accepted, graph


def step(name: str, command: str = "run", **given: Any) -> ContainerStep:
    return ContainerStep(name=name, command=command, **given)


def made(function: Any) -> dict[str, Any]:
    pipeline = Pipeline(name="meal", docker_env="x", fs_options=FSOptions(MainFS("pantry")))(function)()
    document: dict[str, Any] = pipeline.compile()
    assert pipeline.compile() == document
    return document


def steps(function: Any) -> dict[str, Seen]:
    return graph(accepted(yaml.safe_dump(made(function))).document)


def test_artifacts_go_into_and_out_of_dags_of_any_depth() -> None:
    def meal() -> None:
        buy = step("buy", outputs={"rice": Artifact()})
        with DAG(name="a"), DAG(name="b"):
            cook = step("cook", f"cook {buy.outputs['rice']}", outputs={"pot": Artifact()})
        with DAG(name="c"), DAG(name="d"):
            step("eat", "eat {{bowl}}", inputs={"bowl": cook.outputs["pot"]})
        step("look", condition=f"{cook.outputs['pot']} > 3")

    found = steps(meal)
    assert found["a.b.cook"].command == "cook <rice of buy>"
    assert found["c.d.eat"].command == "eat <pot of a.b.cook>"
    assert found["look"].condition == "<pot of a.b.cook> > 3"
    assert made(meal)["entry_points"]["c"]["deps"] == "a"


def test_parameters_come_from_siblings_ancestors_and_their_siblings() -> None:
    def meal() -> None:
        buy = step("buy", parameters={"kind": "red"})
        with DAG(name="a") as a:
            a.parameters["heat"] = 5
            first = step("first", parameters={"x": buy.parameters["kind"]})
            with DAG(name="b"):
                step("cook", f"{first.parameters['x']} {a.parameters['heat']} {buy.parameters['kind']}")

    assert steps(meal)["a.b.cook"].command == "<red> <5> <red>"
    inner = made(meal)["entry_points"]["a"]["entry_points"]["b"]
    assert inner["parameters"] == {"x": "{{first.x}}", "heat": "{{PF_PARENT.heat}}", "kind": "{{PF_PARENT.kind}}"}
    assert inner["deps"] == "first"


def test_items_of_outer_loops_reach_inner_steps() -> None:
    def meal() -> None:
        with DAG(name="a", loop_argument=[[1], [2]]) as a, DAG(name="b") as b:
            b.loop_argument = a.loop_argument.item
            with DAG(name="c", condition=f"{b.loop_argument.item} > 1"):
                cook = step("cook", parameters={"own": PF_LOOP_ARGUMENT}, loop_argument=[3])
                cook.parameters["mine"] = cook.loop_argument.item
                cook.command = f"{a.loop_argument.item} {b.loop_argument.item} {cook.loop_argument.item} {{{{mine}}}}"

    found = steps(meal)["a.b.c.cook"]
    assert found.command == "<item of a> <item of a.b> <item of a.b.c.cook> <item of a.b.c.cook>"


def test_a_loop_and_a_condition_use_what_is_known_before() -> None:
    def meal() -> None:
        buy = step("buy", parameters={"items": [1, 2]}, outputs={"list": Artifact()})
        own = step("own", loop_argument=buy.parameters["items"])
        own.condition = f"{own.loop_argument.item} > 1"
        text = step("text", loop_argument=f"{buy.outputs['list']}")
        text.command = f"run {text.loop_argument.item}"
        with DAG(name="a", loop_argument="[3, 4]", condition=f"{buy.outputs['list']} > 1"):
            step("in", "in")

    found = steps(meal)
    assert (found["own"].loop, found["own"].condition) == ("<(1, 2)>", "<item of own> > 1")
    assert (found["text"].loop, found["text"].command) == ("<list of buy>", "run <item of text>")
    assert made(meal)["entry_points"]["a"]["condition"] == "{{list}} > 1"
    assert made(meal)["entry_points"]["a"]["loop_argument"] == "[3, 4]"


def test_what_is_at_hand_is_used_under_its_name() -> None:
    def meal() -> None:
        buy = step("buy", parameters={"kind": "red"}, outputs={"rice": Artifact()})
        cook = step("cook", inputs={"grain": buy.outputs["rice"]}, parameters={"colour": buy.parameters["kind"]})
        cook.command = f"{buy.outputs['rice']} {buy.outputs['rice']} {buy.parameters['kind']}"

    cook = made(meal)["entry_points"]["cook"]
    assert cook["command"] == "{{grain}} {{grain}} {{colour}}"
    assert (list(cook["parameters"]), list(cook["artifacts"]["input"])) == (["colour"], ["grain"])


def test_names_that_are_taken_are_not_given_again() -> None:
    def meal() -> None:
        makers = [step(f"make-{number}", outputs={"out": Artifact()}) for number in (1, 2)]
        with DAG(name="d"):
            more = [step(f"make-{number}", outputs={"out": Artifact()}) for number in (1, 2)]
        mix = step("mix", outputs={"OUT": Artifact()}, parameters={"make_1_out": 1})
        mix.command = " ".join(str(each.outputs["out"]) for each in (*makers, *more))

    found = steps(meal)["mix"]
    assert found.command == "<out of make-1> <out of make-2> <out of d.make-1> <out of d.make-2>"
    mix = made(meal)["entry_points"]["mix"]
    assert list(mix["artifacts"]["input"]) == ["make_1_out_2", "make_2_out", "make_1_out_3", "make_2_out_2"]


def test_long_names_are_cut() -> None:
    def meal() -> None:
        long = step("x" * 30, outputs={"y" * 50: Artifact()}, parameters={"z" * 50: 1})
        step("use", f"{long.outputs['y' * 50]} {long.parameters['z' * 50]}", outputs={"y" * 50: Artifact()})

    assert steps(meal)["use"].command == f"<{'y' * 50} of {'x' * 30}> <1>"


def test_what_a_dag_declares_is_used() -> None:
    def meal() -> None:
        buy = step("buy", parameters={"kind": "red"}, outputs={"rice": Artifact()})
        with DAG(name="a") as a:
            a.inputs["grain"], a.parameters["colour"] = buy.outputs["rice"], buy.parameters["kind"]
            one = step("one", inputs={"x": a.inputs["grain"]}, outputs={"pot": Artifact()})
            two = step("two", inputs={"x": buy.outputs["rice"]}, parameters={"c": buy.parameters["kind"]})
            two.command = f"{two.inputs['x']} {{{{c}}}} {a.inputs['grain']}"
            a.outputs["meal"] = one.outputs["pot"]
        step("eat", inputs={"one": a.outputs["meal"], "same": one.outputs["pot"]})

    assert steps(meal)["a.two"].command == "<rice of buy> <red> <rice of buy>"
    document = made(meal)["entry_points"]
    assert document["a"]["artifacts"] == {"input": {"grain": "{{buy.rice}}"}, "output": {"meal": "{{one.pot}}"}}
    assert document["a"]["parameters"] == {"colour": "{{buy.kind}}"}
    assert document["eat"]["artifacts"]["input"] == {"one": "{{a.meal}}", "same": "{{a.meal}}"}


def test_an_input_of_another_step_is_what_that_step_reads() -> None:
    def meal() -> None:
        buy = step("buy", outputs={"rice": Artifact()})
        cook = step("cook", inputs={"x": buy.outputs["rice"]})
        step("look", "{{x}}", inputs={"x": cook.inputs["x"]})

    assert steps(meal)["look"].command == "<rice of buy>"
    assert made(meal)["entry_points"]["look"]["deps"] == "buy"


def test_parameters_within_texts_of_parameters_are_followed() -> None:
    def meal() -> None:
        buy = step("buy", parameters={"kind": "red"})
        with DAG(name="a"):
            step(
                "cook",
                "{{path}} {{other}}",
                parameters={"path": f"/data/{buy.parameters['kind']}", "other": Parameter()},
            )
            a_cook = step("c2", parameters={"x": Parameter(f"{buy.parameters['kind']}!", str)})
            assert a_cook.parameters["x"].type == "string"

    with pytest.raises(PaddleFlowSDKException, match="the parameter other has neither a value nor a type"):
        made(meal)

    def mended() -> None:
        buy = step("buy", parameters={"kind": "red"})
        with DAG(name="a"):
            step("cook", "{{path}}", parameters={"path": f"/data/{buy.parameters['kind']}"})

    assert steps(mended)["a.cook"].command == "</data/red>"


def test_dependences_across_dags_are_those_of_the_dags() -> None:
    def meal() -> None:
        first = step("first")
        with DAG(name="a"):
            inner = step("inner")
            step("late").after(inner, first)
        with DAG(name="b"), DAG(name="c"):
            step("cook").after(inner)
        step("eat").after(inner)

    document = made(meal)["entry_points"]
    assert [document[name].get("deps") for name in ("first", "a", "b", "eat")] == [None, "first", "a", "a"]
    assert document["a"]["entry_points"]["late"]["deps"] == "inner"
    assert "deps" not in document["b"]["entry_points"]["c"]


def test_steps_are_written_after_those_they_need() -> None:
    def meal() -> None:
        late = step("late")
        early = step("early")
        step("other")
        late.after(early)

    assert list(made(meal)["entry_points"]) == ["early", "late", "other"]


def test_texts_written_before_a_step_got_its_place_still_mean_it() -> None:
    def meal() -> None:
        with DAG(name="a"):
            cook = step("cook", parameters={"x": 1})
            cook.command = f"run {cook.parameters['x']}"
            other = step("other", f"look {cook.parameters['x']}").after(cook)
            cook.name, other.name = "bake", "see"

    assert {path: each.command for path, each in steps(meal).items()} == {"a.bake": "run <1>", "a.see": "look <1>"}


def test_names_can_stand_for_values() -> None:
    def meal() -> None:
        step("buy", parameters={"kind": "red"}, outputs={"rice": Artifact()})
        cook = step("cook", "{{a}} {{b}}")
        cook.inputs["a"] = ArtifactPlaceholder("rice", "PF-ENTRY-POINT.buy")
        cook.parameters["b"] = ParameterPlaceholder("kind", "PF-ENTRY-POINT.buy")

    assert steps(meal)["cook"].command == "<rice of buy> <red>"


def test_variables_of_the_pipeline_are_those_of_each_step_that_has_none() -> None:
    @Pipeline(name="meal", docker_env="x", env={"A": "1", "B": "2"})
    def meal() -> None:
        buy = step("buy", parameters={"kind": "red"}, env={"B": "3"})
        with DAG(name="a"):
            step("cook", env={"C": f"is {buy.parameters['kind']}"})

    pipeline = meal()
    pipeline.set_post_process(step("mail"))
    found = graph(accepted(yaml.safe_dump(pipeline.compile())).document)
    assert found["buy"].env == {"A": "1", "B": "3"}
    assert found["a.cook"].env == {"A": "1", "B": "2", "C": "is <red>"}
    assert pipeline.compile()["post_process"] == {"mail": {"command": "run", "env": {"A": "1", "B": "2"}}}
    assert pipeline.env == {"A": "1", "B": "2"}
