"""A program says the same as the document that a person would write."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from pf_pipeline.documents.reading import read
from support.dsl_programs import dag, programs
from support.pipeline_graphs import accepted, graph
from support.repository import ROOT

FOLDER = ROOT / "tests/data/dsl"
NAMES = sorted(path.stem for path in FOLDER.glob("*.yaml"))


def document(name: str) -> str:
    return (FOLDER / f"{name}.yaml").read_text()


def test_there_is_a_program_for_each_document() -> None:
    assert sorted(programs()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_program_makes_the_graph_of_its_document(name: str, tmp_path: Path) -> None:
    file = tmp_path / "run.yaml"
    programs()[name].compile(file)
    ours, written = accepted(file.read_bytes()).document, accepted(document(name)).document
    assert graph(ours) == graph(written)
    for part in ("name", "docker_env", "parallelism", "cache", "strategy", "main_fs", "extra_fs", "semaphores"):
        assert getattr(ours, part) == getattr(written, part), part
    for part in ("post_process", "on_exit", "notify"):
        assert getattr(ours, part) == getattr(written, part), part


@pytest.mark.parametrize("name", [name for name in NAMES if name != "dag"])
def test_a_program_makes_the_very_document(name: str) -> None:
    # In that one a person chose other names for what is handed through.
    assert programs()[name].compile() == yaml.safe_load(document(name))


def test_what_is_handed_through_is_named_after_where_it_comes_from() -> None:
    made = programs()["dag"].compile()["entry_points"]
    assert isinstance(made, dict)
    assert made["sort"]["artifacts"] == {"input": {"fruit": "{{pick.fruit}}"}, "output": {"all": "{{gather.all}}"}}


def test_components_that_are_referred_to_say_the_same() -> None:
    keep = """
  keep:
    command: eat
    artifacts: {input: {fruit: ""}, output: [result]}
"""
    text = document("dag")
    eat = text[text.index("      eat-ripe:") : text.index("      store-green:")]
    referring = eat.replace("        command: eat\n", "        reference: {component: keep}\n")
    referring = referring.replace("          output:\n          - result\n", "").replace("ripe: '{{h", "fruit: '{{h")
    text = text.replace(eat, referring).replace("entry_points:\n  pick", f"components:{keep}entry_points:\n  pick")
    assert graph(accepted(text).document) == graph(accepted(yaml.safe_dump(programs()["dag"].compile())).document)


@pytest.mark.parametrize("name", NAMES)
def test_a_program_always_makes_the_same(name: str, tmp_path: Path) -> None:
    pipeline = programs()[name]
    assert json.dumps(pipeline.compile()) == json.dumps(pipeline.compile()) == json.dumps(programs()[name].compile())
    pipeline.compile(tmp_path / "a.yml")
    pipeline.compile(tmp_path / "b.json")
    assert yaml.safe_load((tmp_path / "a.yml").read_text()) == json.loads((tmp_path / "b.json").read_text())


def test_a_program_makes_the_same_in_every_process() -> None:
    code = "import json; from support.dsl_programs import programs; print(json.dumps(programs()['dag'].compile()))"
    said = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT / "tests")},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(said) == 1


def test_arguments_of_the_function_reach_the_steps() -> None:
    assert read(yaml.safe_dump(dag(number=4).compile())).document.entry_points["pick"].parameters["number"].value == 4
