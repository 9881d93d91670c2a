"""Whatever is nested in whatever, and uses whatever it may: the service accepts it, and it means what was said."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paddleflow.pipeline import DAG, Artifact, ContainerStep, FSOptions, MainFS, Pipeline
from support.pipeline_graphs import accepted, graph

Draw = Any
NAMES = st.sampled_from(["x", "out", "value", "a_out", "X1"])


@dataclass
class Meant:
    """What a generated program says."""

    commands: dict[str, str] = field(default_factory=dict)
    """What each step should see in its command, by path."""
    inputs: dict[str, set[str]] = field(default_factory=dict)
    finished: list[tuple[str, ContainerStep, str]] = field(default_factory=list)
    """Steps that others may use: their paths, and their outputs."""
    open: list[tuple[str, DAG]] = field(default_factory=list)
    """The DAGs around what is being made."""
    count: int = 0


def grow(draw: Draw, meant: Meant, path: str, level: int) -> None:
    """Makes some components in the DAG that is open."""
    for _ in range(draw(st.integers(1, 3))):
        meant.count += 1
        name = f"n{meant.count}"
        if level < 3 and draw(st.booleans()):
            inner(draw, meant, f"{path}{name}", name, level)
        else:
            leaf(draw, meant, f"{path}{name}", name)


def inner(draw: Draw, meant: Meant, path: str, name: str, level: int) -> None:
    dag = DAG(name=name)
    if draw(st.booleans()):
        sources = [used.outputs[output] for _, used, output in meant.finished]
        dag.loop_argument = draw(st.sampled_from([[1, 2], *sources]))
    with dag:
        meant.open.append((path, dag))
        grow(draw, meant, f"{path}.", level + 1)
        meant.open.pop()


def leaf(draw: Draw, meant: Meant, path: str, name: str) -> None:
    """A step that uses some of what it may."""
    step = ContainerStep(name=name, outputs={draw(NAMES): Artifact()}, parameters={"p": meant.count})
    (output,) = step.outputs
    words: list[tuple[str, str]] = []
    meant.inputs[path] = set()
    if meant.finished:
        for made, used, its in draw(st.lists(st.sampled_from(meant.finished), max_size=4)):
            words.append((str(used.outputs[its]), f"<{its} of {made}>"))
            meant.inputs[path].add(f"{its} of {made}")
            if reachable(path, made):
                words.append((str(used.parameters["p"]), f"<{used.parameters['p'].ref}>"))
    for around, dag in meant.open:
        if dag.loop_argument is not None and draw(st.booleans()):
            words.append((str(dag.loop_argument.item), f"<item of {around}>"))
    step.command = " ".join(word for word, _ in words)
    meant.commands[path] = " ".join(seen for _, seen in words)
    meant.finished.append((path, step, output))


def reachable(path: str, other: str) -> bool:
    """Whether the other is a sibling, or one of a DAG around."""
    around, dot, _ = other.rpartition(".")
    return path.startswith(around + dot)


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_nested_dags_mean_what_the_program_said(data: st.DataObject) -> None:
    meant = Meant()

    @Pipeline(name="nested", docker_env="x", fs_options=FSOptions(MainFS("pantry")))
    def nested() -> None:
        grow(data.draw, meant, "", 0)

    pipeline = nested()
    document = pipeline.compile()
    assert pipeline.compile() == document
    text = yaml.safe_dump(document, sort_keys=False)
    found = graph(accepted(text).document)
    assert {path: seen.command for path, seen in found.items()} == meant.commands
    assert {path: set(seen.inputs) for path, seen in found.items()} == meant.inputs
