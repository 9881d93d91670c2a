"""What templates become when the turn of a node comes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import md5

import pytest

from pf_pipeline.documents.model import Cache, Mount, ParameterKind, Result, ResultKind, Value
from pf_pipeline.engine.core.words import Scope, Sibling, Turn, Unsettled
from pf_pipeline.engine.speaking import RunWords, facts_of, ground_of
from pf_pipeline.plans.domain import Plan, PlannedDag, PlannedStep
from pf_pipeline.plans.paths import job_name
from pf_pipeline.plans.resolving import LONGEST, constants
from pf_pipeline.plans.values import result_of, text_of
from pf_pipeline.runs.domain import NodeWork, Order, Run, RunLife

RUN = Run(
    id="run-000042",
    owner="ann",
    order=Order(name="cake", filesystem="disk", filesystem_id="fs-ann-disk"),
    life=RunLife(create_time=datetime(2030, 1, 1, tzinfo=UTC)),
)
HOME = "/home/paddleflow/storage/mnt/fs-ann-disk"


def words(main_fs: Mount | None = Mount("disk")) -> RunWords:  # noqa: B008 -- frozen
    plan = Plan(name="cake", entry_points={}, main_fs=main_fs)
    return RunWords(RUN.id, plan.name, facts_of(RUN), ground_of(RUN, plan))


def turn(iteration: int = 0, argument: Value | None = None) -> Turn:
    name = f"cake.entry_points.bake{f'-{iteration}' if iteration else ''}"
    return Turn(name, iteration, argument)


WORK = NodeWork(
    parameters={"eggs": 3, "sizes": (1, 2.5, (3, "x")), "name": "pie", "flour": 1250000.25, "note": "[7, 8]"},
    inputs={"bowl": "a/bowl", "tins": "a/one,a/two"},
)


def bake(**said: object) -> PlannedStep:
    return PlannedStep(name="bake", **said)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("mix {{eggs}}x{{flour}}", "mix 3x1250000.25"),
        ("{{ sizes }} {{name}}", "[1 2.5 [3 x]] pie"),
        ("{{PF_RUN_ID}} {{PF_STEP_NAME}} {{PF_USER_NAME}}", "run-000042 bake ann"),
        ("use {{bowl}}", f"use {HOME}/a/bowl"),
        ("use {{tins}}", f"use {HOME}/a/one,{HOME}/a/two"),
        ("{{{eggs}}} {{ }} {{a b}} {{}}", "{3} {{ }} {{a b}} {{}}"),
    ],
)
def test_commands(command: str, told: str) -> None:
    assert words().step(bake(command=command), turn(), WORK).command == told


def test_what_a_value_became_is_not_looked_at_again() -> None:
    work = NodeWork(parameters={"a": "{{b}}", "b": "no"})
    assert words().step(bake(command="{{a}}"), turn(), work).command == "{{b}}"


def test_outputs_lie_in_a_folder_of_the_step() -> None:
    step = bake(command="cp x {{cake}}", outputs=("cake",))
    digest = md5(b"cake.entry_points.bake-2", usedforsecurity=False).hexdigest()
    made = words(Mount("disk", mount_path="/m/", sub_path="./deep/er/")).step(step, turn(2), NodeWork())
    folder = f".pipeline/run-000042/cake/bake-2-{digest}"
    assert made.outputs == {"cake": f"deep/er/{folder}/cake"}
    assert made.command == f"cp x /m/{folder}/cake"
    assert (job_name("run-1", "bake", 0), job_name("run-1", "bake", 2)) == ("run-1-bake", "run-1-bake-2")


def test_the_cache_compares_commands_without_paths_and_what_does_not_count() -> None:
    step = bake(command="{{bowl}} {{ cake }} {{eggs}} {{name}}", outputs=("cake",), cache=Cache(ignore=("name",)))
    assert words().cached_command(step, turn(), WORK) == "{{bowl}} {{cake}} 3 {{name}}"


def test_variables() -> None:
    step = bake(env={"E": "{{eggs}}_{{name}}", "L": "{{sizes}}"}, outputs=("cake",), results={"score": Result()})
    made = words().step(step, turn(1, (4, "y")), WORK)
    assert made.env == {"E": "3_pie", "L": "[1 2.5 [3 x]]"}
    added = words().injected(step, turn(1, (4, "y")), made)
    assert added["PF_LOOP_ARGUMENT"] == "[4 y]"
    assert added["PF_INPUT_ARTIFACT_TINS"] == f"{HOME}/a/one,{HOME}/a/two"
    assert added["PF_OUTPUT_ARTIFACT_CAKE"] == f"{HOME}/{made.outputs['cake']}"
    assert added["PF_RESULT_SCORE"].endswith("/.results/score")
    assert added["PF_STEP_NAME"] == "bake"
    assert "PF_LOOP_ARGUMENT" not in words().injected(step, turn(), made)


def test_fields_of_a_job_keep_the_types_of_values() -> None:
    job = {"members": [{"replicas": "{{eggs}}", "args": ["-n", "{{eggs}}{{name}}", "{{note}}"]}], "port": 5}
    made = words().step(bake(job=job), turn(), WORK)
    assert made.job == {"members": [{"replicas": 3, "args": ["-n", "3pie", "[7, 8]"]}], "port": 5}


def around(**siblings: Sibling) -> Scope:
    return Scope({"size": 9, "far": "x"}, {"tin": "p/tin"}, (5, 6), siblings)


def beside(outputs: Mapping[str, str] | None = None, **values: Value) -> Sibling:
    return Sibling(values, {"score": 0.25}, lambda: outputs or {})


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("{{mix.eggs}}", 4),
        ("n{{mix.eggs}}", "n4"),
        ("{{mix.list}}", (1, 2)),
        ("{{mix.score}}", 0.25),
        ("{{PF_PARENT.size}}", 9),
        ("{{PF_PARENT.far}}_{{ PF_PARENT.size }}", "x_9"),
        ("{{PF_PARENT.PF_LOOP_ARGUMENT}}", (5, 6)),
        ("{{PF_STEP_NAME}}", "bake"),
        ("{{PF_LOOP_ARGUMENT}}", 7),
        ("{{PF_LOOP_ARGUMENT}}-{{PF_RUN_ID}}", "7-run-000042"),
        (("a", 1), ("a", 1)),
    ],
)
def test_parameters(said: Value, value: Value) -> None:
    """Names of the system are those of the node itself, not of the DAG around it."""
    scope = around(mix=beside(eggs=4, list=(1, 2)))
    assert words().parameters(bake(parameters={"p": said}, loop=(7,)), scope, 7) == {"p": value}


def test_parameters_about_an_item_are_not_known_before_the_items_are() -> None:
    step = bake(parameters={"all": "{{mix.list}}", "one": "{{PF_LOOP_ARGUMENT}}"}, loop="{{all}}")
    scope = around(mix=beside(list=(1, 2)))
    early = words().parameters(step, scope, None)
    assert early == {"all": (1, 2)}
    assert words().items(step, early, {}, "") == (1, 2)


def test_types_hold_while_a_run_goes_on() -> None:
    step = bake(parameters={"p": "{{mix.word}}"}, kinds={"p": ParameterKind.INT})
    assert words().parameters(step, around(mix=beside(word="12")), None) == {"p": "12"}
    with pytest.raises(Unsettled, match="parameter p of bake must be int, and 'many' is no int"):
        words().parameters(step, around(mix=beside(word="many")), None)


def test_what_is_not_there_fails() -> None:
    with pytest.raises(Unsettled, match=r"bake refers to mix.none, which has no value"):
        words().parameters(bake(parameters={"p": "{{mix.none}}"}), around(mix=beside()), None)


def test_texts_that_double_at_each_step_end() -> None:
    scope = around(mix=beside(long="x" * (LONGEST // 2)))
    with pytest.raises(Unsettled, match="more than 4 MiB"):
        words().parameters(bake(parameters={"p": "{{mix.long}}" * 3}), scope, None)
    with pytest.raises(Unsettled, match="more than 4 MiB"):
        words().step(bake(command="{{l}}" * 5), turn(), NodeWork(parameters={"l": "x" * (LONGEST // 4)}))


def test_some_parameters_are_known_without_an_iteration() -> None:
    step = bake(parameters={"a": 1, "b": "{{mix.eggs}}", "c": "plain", "d": ("x",)}, loop=())
    assert constants(step) == {"a": 1, "c": "plain", "d": ("x",)}


def test_inputs() -> None:
    step = bake(inputs={"a": "{{mix.out}}", "b": "{{ PF_PARENT.tin }}", "c": "{{none.out}}"})
    scope = around(mix=beside({"out": "p/0,p/1"}), none=beside())
    assert words().inputs(step, scope) == {"a": "p/0,p/1", "b": "p/tin", "c": ""}


def test_outputs_of_a_dag() -> None:
    dag = PlannedDag(name="d", children={}, outputs={"r": "{{last.cake}}"})
    assert words().dag_outputs(dag, {"last": beside({"cake": "p/0,p/1"})}) == {"r": "p/0,p/1"}


@pytest.mark.parametrize(
    ("loop", "content", "items"),
    [
        ((1, "a"), "", (1, "a")),
        ("[1, 2.5, [3]]", "", (1, 2.5, (3,))),
        ("{{sizes}}", "", (1, 2.5, (3, "x"))),
        ("{{note}}", "", (7, 8)),
        ("{{bowl}}", ' [1234567, "é"]\n', (1234567, "é")),
        ("{{bowl}}", "", ()),
        ((), "", ()),
    ],
)
def test_items_of_loops(loop: tuple[Value, ...] | str, content: str, items: tuple[Value, ...]) -> None:
    assert words().items(bake(loop=loop), WORK.parameters, WORK.inputs, content) == items


@pytest.mark.parametrize("content", ["3", "{}", "[1", "[true]", "[null]", '[{"a": 1}]', "[NaN]", "[1e999]", "[" * 5000])
def test_no_items(content: str) -> None:
    with pytest.raises(Unsettled, match="loop_argument of bake"):
        words().items(bake(loop="{{bowl}}"), {}, WORK.inputs, content)


def test_a_number_is_no_list() -> None:
    with pytest.raises(Unsettled, match="loop_argument of bake is no list: '3'"):
        words().items(bake(loop="{{eggs}}"), WORK.parameters, WORK.inputs, "")


def test_the_file_of_a_loop() -> None:
    assert words().loop_file(bake(loop="{{bowl}}"), WORK.inputs) == "a/bowl"
    assert words().loop_file(bake(loop="{{sizes}}"), WORK.inputs) == ""
    assert words().loop_file(bake(loop="[1]"), WORK.inputs) == ""
    with pytest.raises(Unsettled, match="input artifact tins of bake is several"):
        words().loop_file(bake(loop="{{tins}}"), WORK.inputs)


@pytest.mark.parametrize(
    ("condition", "text", "holds"),
    [
        ("{{eggs}} > 10", "3 > 10", False),
        ("{{flour}} > 1", "1250000.25 > 1", True),
        ("{{ name }} == pie", "pie == pie", True),
        ("{{bowl}} == 4", "4\n == 4", True),
        ("{{PF_LOOP_ARGUMENT}} > 1", "2 > 1", True),
    ],
)
def test_conditions(condition: str, text: str, holds: bool) -> None:
    step = bake(condition=condition)
    files = words().condition_files(step, WORK.inputs)
    assert files == (("a/bowl",) if "bowl" in condition else ())
    contents = dict.fromkeys(files, "4\n")
    assert words().condition(step, turn(1, 2), WORK, contents) == (text, holds)


@pytest.mark.parametrize("condition", ["{{name}}-1 == 2", "{{name}}", "{{name}} {{name}}"])
def test_conditions_that_are_neither_true_nor_false(condition: str) -> None:
    with pytest.raises(Unsettled, match="condition of bake is neither true nor false"):
        words().condition(bake(condition=condition), turn(), WORK, {})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1.0"),
        (1e21, "1000000000000000000000"),
        (1.5e-7, "0.00000015"),
        (True, "true"),
        (-0.1, "-0.1"),
        ((), "[]"),
    ],
)
def test_values_as_texts(value: Value, text: str) -> None:
    assert text_of(value) == text


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (ResultKind.STRING, "a b\n", "a b"),
        (ResultKind.INT, " 12\n", 12),
        (ResultKind.FLOAT, "1e-3", 0.001),
        (ResultKind.BOOL, "True\n", True),
        (ResultKind.LIST, '[1, "a"]', (1, "a")),
    ],
)
def test_small_results(kind: ResultKind, text: str, value: Value) -> None:
    assert result_of(Result(kind), "r", text) == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [(ResultKind.INT, "1.5"), (ResultKind.FLOAT, "x"), (ResultKind.FLOAT, "1e999"), (ResultKind.BOOL, "1")],
)
def test_small_results_that_are_none(kind: ResultKind, text: str) -> None:
    with pytest.raises(Unsettled, match=f"result r must be {kind}, and is '{text}'"):
        result_of(Result(kind), "r", text)


@pytest.mark.parametrize("escaped", [r"\u0000", r"a\ud800"])
def test_lists_of_texts_that_nothing_can_keep(escaped: str) -> None:
    with pytest.raises(Unsettled, match="characters that nothing can keep"):
        result_of(Result(ResultKind.LIST), "r", f'["{escaped}"]')
