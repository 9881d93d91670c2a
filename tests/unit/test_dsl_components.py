"""Steps and DAGs: how they are put together, and what they refuse."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from paddleflow.common.exception.paddleflow_sdk_exception import PaddleFlowSDKException
from paddleflow.pipeline import DAG, ContainerStep, Pipeline
from paddleflow.pipeline.dsl.component import Component, Step


def step(name: str, **given: Any) -> ContainerStep:
    return ContainerStep(name=name, **given)


def test_what_is_made_in_a_dag_is_in_it() -> None:
    with DAG(name="meal") as meal:
        soup = step("soup")
        with DAG(name="main") as main:
            rice = step("rice")
        sweet = step("sweet")
    assert meal.entry_points == {"soup": soup, "main": main, "sweet": sweet}
    assert main.entry_points == {"rice": rice}
    assert [each.full_name for each in (meal, soup, main, rice)] == ["meal", "meal.soup", "meal.main", "meal.main.rice"]
    assert (soup.type, main.type, soup.class_name()) == ("step", "dag", "ContainerStep")
    assert isinstance(soup, Step)
    assert isinstance(main, Component)


def test_what_is_made_outside_is_in_none() -> None:
    with pytest.raises(RuntimeError), DAG(name="meal"):
        raise RuntimeError
    assert step("soup").full_name == "soup"


def test_a_dag_can_be_gone_on_with_and_be_filled_later() -> None:
    meal, soup = DAG(name="meal"), step("soup")
    with meal:
        step("rice")
    with meal:
        step("sweet")
    meal.add(soup)
    assert list(meal.entry_points) == ["rice", "sweet", "soup"]
    assert soup.full_name == "meal.soup"


def test_names_in_a_dag_differ() -> None:
    with DAG(name="meal") as meal:
        step("soup")
        rice = step("rice")
        with pytest.raises(PaddleFlowSDKException, match="two components named soup in meal"):
            step("soup")
    with pytest.raises(PaddleFlowSDKException, match="two components named soup"):
        rice.name = "soup"
    rice.name = "noodles"
    assert list(meal.entry_points) == ["soup", "noodles"]


def test_a_step_is_in_one_dag() -> None:
    with DAG(name="meal"):
        soup = step("soup")
    with pytest.raises(PaddleFlowSDKException, match="in the DAG meal already"):
        DAG(name="other").add(soup)


@pytest.mark.parametrize("name", ["1a", "a_b", "", "a.b", "a" * 31, "a\n", None])
def test_names_of_components_are_checked(name: Any) -> None:
    for make in (ContainerStep, DAG):
        with pytest.raises(PaddleFlowSDKException, match="cannot be named") as refused:
            make(name=name)
        assert refused.value.get_code() == "PipelineDSLError"
    soup = step("soup")
    with pytest.raises(PaddleFlowSDKException, match="cannot be named"):
        soup.name = name


def test_after_returns_the_step_and_needs_components() -> None:
    one, two, three = step("one"), step("two"), DAG(name="three")
    assert two.after(one) is two
    assert three.after(one, two).dependences == {"one", "two"}
    with pytest.raises(PaddleFlowSDKException, match="at least one"):
        one.after()
    with pytest.raises(PaddleFlowSDKException, match="neither a step nor a DAG"):
        one.after("two")


def test_conditions_are_texts() -> None:
    assert step("one", condition="1 > 2").condition == "1 > 2"
    with pytest.raises(PaddleFlowSDKException, match="condition of one has to be text"):
        step("one", condition=1 > 2)


@pytest.mark.parametrize("field", ["inputs", "outputs", "parameters"])
def test_what_is_no_dictionary_is_refused(field: str) -> None:
    with pytest.raises(PaddleFlowSDKException, match=f"{field} of one has to be a dictionary"):
        step("one", **{field: [1]})


@pytest.mark.parametrize("field", ["inputs", "outputs", "parameters", "env", "results"])
def test_dictionaries_of_a_component_are_not_replaced(field: str) -> None:
    with pytest.raises(AttributeError):
        setattr(step("one"), field, {})


def test_pipelines_made_at_once_do_not_mix() -> None:
    met = threading.Barrier(2)

    @Pipeline(name="meal", docker_env="x")
    def meal(name: str) -> None:
        met.wait(5)
        step(f"{name}-1")
        met.wait(5)
        step(f"{name}-2")

    made: dict[str, list[str]] = {}
    threads = [
        threading.Thread(target=lambda name=name: made.update({name: list(meal(name).entry_points)}))
        for name in ("a", "b")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert made == {"a": ["a-1", "a-2"], "b": ["b-1", "b-2"]}


def test_a_pipeline_made_inside_of_another_is_its_own() -> None:
    @Pipeline(name="inner", docker_env="x")
    def inner() -> None:
        step("soup")

    @Pipeline(name="outer", docker_env="x")
    def outer() -> None:
        step("rice")
        assert list(inner().entry_points) == ["soup"]
        step("sweet")

    assert list(outer().entry_points) == ["rice", "sweet"]
