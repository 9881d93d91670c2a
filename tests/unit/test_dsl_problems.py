"""What is wrong with a program is said all at once, with names."""

from __future__ import annotations

from typing import Any

import pytest

from paddleflow.common.exception import PaddleFlowSDKException
from paddleflow.pipeline import DAG, Artifact, CacheOptions, ContainerStep, FSOptions, MainFS, Parameter, Pipeline


def step(name: str, command: str = "run", **given: Any) -> ContainerStep:
    return ContainerStep(name=name, command=command, **given)


AWAY = step("away", outputs={"o": Artifact()})


def problems(pipeline: Pipeline) -> list[str]:
    with pytest.raises(PaddleFlowSDKException) as refused:
        pipeline.compile()
    assert refused.value.code == "PipelineDSLError"
    first, *rest = str(refused.value.get_message()).splitlines()
    assert first == "the pipeline meal cannot be compiled:"
    return [line.strip() for line in rest]


def of(function: Any, **given: Any) -> list[str]:
    return problems(Pipeline(**{"name": "meal", "docker_env": "x", **given})(function)())


def test_all_problems_are_said() -> None:
    def meal() -> None:
        cook = step("cook", parameters={"x": 1, "X": 2}, outputs={"pot": Artifact()})
        with DAG(name="a"):
            inner = step("inner", parameters={"y": 3}, env={"POT": str(cook.outputs["pot"])})
        step("eat", parameters={"y": inner.parameters["y"]})
        DAG(name="empty")

    assert of(meal) == [
        "step cook: the parameter x and the parameter X need different names",
        "step a.inner: the variable POT refers to the output artifact pot of cook: artifacts are used in commands,"
        " conditions and loops, and among inputs",
        "step eat: the parameter y refers to the parameter y of a.inner, which is inside of the DAG a: only artifacts"
        " can leave a DAG",
        "dag empty: there is nothing in it: make its steps inside of `with`",
    ]


def test_circles_are_shown() -> None:
    def meal() -> None:
        one, two, three = step("one"), step("two"), step("three")
        one.after(two)
        two.after(three)
        three.after(one)

    (problem,) = of(meal)
    assert problem.startswith("pipeline: its components wait for one another: ")
    circle = problem.removeprefix("pipeline: its components wait for one another: ").partition(";")[0].split(" → ")
    assert " ".join(circle) in "one two three one two three"
    assert len(circle) == 4


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda a, cook, _: cook.after(a), "one of them is, or is inside of, the other"),
        (lambda a, cook, _: a.after(cook), "one of them is, or is inside of, the other"),
        (lambda _a, cook, _: cook.after(cook), "one of them is, or is inside of, the other"),
        (
            lambda _a, cook, _: cook.inputs.update(x=AWAY.outputs["o"]),
            "same pipeline",
        ),
        (lambda a, cook, _: setattr(a, "condition", f"{cook.outputs['pot']} > 1"), "which is inside of it"),
        (
            lambda a, cook, _: setattr(a, "condition", f"{a.outputs['o']} > 1") if _own(a, cook) else None,
            "its own output",
        ),
        (lambda _a, cook, _: setattr(cook, "condition", f"{cook.outputs['pot']} > 1"), "its own output artifact pot"),
        (lambda _a, cook, _: setattr(cook, "loop_argument", cook.outputs["pot"]), "its own output artifact pot"),
        (
            lambda a, _c, buy: setattr(buy, "command", str(a.loop_argument.item)),
            "which only that and what is in it can use",
        ),
        (lambda _a, cook, buy: setattr(buy, "command", str(cook.results["n"])), "only artifacts can leave a DAG"),
        (lambda _a, cook, _: setattr(cook, "command", str(cook.results["n"])), "its own result n"),
        (lambda _a, cook, _: setattr(cook, "command", "{{artifact: no.where}}"), "refers to no, which is not in"),
        (lambda _a, _c, buy: setattr(buy, "command", "{{parameter: PF-ENTRY-POINT.buy.z}}"), "has none of that name"),
        (lambda a, cook, _: cook.inputs.update(x=a.outputs["o"]) if _own(a, cook) else None, "known only after it"),
        (lambda a, _c, buy: a.outputs.update(o=buy.outputs["rice"]), "which is not made in it"),
        (lambda _a, cook, _: cook.parameters.update(p=f"{cook.parameters['q']}"), "its own parameter q"),
        (lambda _a, _c, buy: setattr(buy, "extra_fs", "x"), "extra_fs"),
        (lambda _a, _c, buy: setattr(buy, "cache_options", CacheOptions(True, "x")), "FSScope"),  # type: ignore[arg-type]
        (lambda a, cook, _: _stale_item(a, cook), "not repeated any more"),
    ],
)
def test_what_cannot_be_used_says_why(change: Any, said: str) -> None:
    def meal() -> None:
        buy = step("buy", outputs={"rice": Artifact()})
        with DAG(name="a", loop_argument=[1]) as a:
            cook = step("cook", outputs={"pot": Artifact()}, results={"n": int}, parameters={"q": 1})
        change(a, cook, buy)

    found = of(meal)
    assert any(said in problem for problem in found), found


def _own(a: DAG, cook: ContainerStep) -> bool:
    a.outputs["o"] = cook.outputs["pot"]
    return True


def _stale_item(a: DAG, cook: ContainerStep) -> None:
    item = a.loop_argument.item
    a.loop_argument = None
    cook.command = f"{item}"


def test_a_stale_name_of_two_steps_is_refused() -> None:
    def meal() -> None:
        with DAG(name="a"):
            one, two = step("one", parameters={"x": 1}), step("two", parameters={"x": 2})
            text = f"{one.parameters['x']}"
            one.name = "uno"
            two.name = "one"
            str(two.parameters["x"])
            two.name = "dos"
            step("use", text)

    (problem,) = of(meal)
    assert "not the only one of that name" in problem


def test_every_step_needs_an_image() -> None:
    def meal() -> None:
        step("cook")
        with DAG(name="a"):
            step("eat", docker_env="y")
            step("wash")

    assert of(meal, docker_env=None) == [
        "step cook: it has no docker_env, and the pipeline has none either",
        "step a.wash: it has no docker_env, and the pipeline has none either",
    ]


def test_what_runs_in_the_end_knows_nobody() -> None:
    away: list[ContainerStep] = []

    @Pipeline(name="meal", docker_env="x")
    def meal() -> None:
        away.append(step("cook", outputs={"pot": Artifact()}, parameters={"x": 1}))

    pipeline = meal()
    last = step("cook", f"see {away[0].parameters['x']}", condition="1 > 2", loop_argument=[1])
    last.after(away[0])
    last.cache_options = CacheOptions()
    last.inputs["in"] = away[0].outputs["pot"]
    pipeline.set_post_process(last)
    pipeline.add_exit_handler(step("bye"))
    pipeline.add_exit_handler(step("bye"))
    found = problems(pipeline)
    for said in (
        "same name",
        "condition",
        "repeated",
        "cached",
        "put after others",
        "input artifacts",
        "same pipeline",
    ):
        assert any(problem.startswith("post_process cook: ") and said in problem for problem in found), said
    assert "on_exit: there are two steps named bye; give one of them another name" in found


def test_options_of_the_pipeline_are_looked_at() -> None:
    options = FSOptions(MainFS("a"))
    options.main_fs = "b"  # type: ignore[assignment]

    def meal() -> None:
        step("cook", parameters={"x": Parameter(3)})

    assert of(meal, fs_options=options) == ["pipeline: main_fs of FSOptions is 'b': it has to be MainFS(name, …)"]
    assert of(lambda: None) == ["pipeline: there is no step in it"]


def test_what_no_document_can_hold_is_refused() -> None:
    def meal() -> None:
        step("cook", job={"framework": object})
        step("eat", parameters={"x": float("inf")})

    use = "cannot be written into a document: use texts, finite numbers, lists and dictionaries"
    assert of(meal, notify=[{"command": b"x"}]) == [
        f"step cook: <class 'object'> {use}",
        f"step eat: inf {use}",
        f"pipeline: b'x' {use}",
    ]


def test_options_of_another_kind_are_refused() -> None:
    def meal() -> None:
        step("cook", approval="ada")
        step("eat", retry="often")

    assert of(meal, cache_options=True) == [
        "step cook: 'ada' stands where Approval(…) should",
        "step eat: 'often' stands where Retry(…) should",
        "pipeline: True stands where CacheOptions(…) should",
    ]
