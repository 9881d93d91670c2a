"""Argo and Airflow themselves take what is exported, and Airflow does with it what we do: `make test-exports`."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from pf_pipeline.documents.reading import read
from pf_pipeline.exports.exporting import exported
from pf_pipeline.pipelines.ports import Target
from pf_pipeline.plans.domain import Kind, Plan
from pf_pipeline.plans.planning import plan
from pf_pipeline.plans.requests import Request
from support.export_worlds import DoingWorld, run_here
from support.repository import ROOT

CACHE = ROOT / ".cache/exports"
HERE = ROOT / "tests/exports"
DOCUMENTS = sorted((HERE / "documents").glob("*.yaml"))
PARSED = sorted((HERE / "parsed").glob("*.yaml"))
STATES = {"success": "succeeded", "upstream_failed": "cancelled"}
"""What Airflow calls otherwise."""

pytestmark = [pytest.mark.exports, pytest.mark.timeout(900)]


def planned(path: Path) -> Plan:
    return plan(read(path.read_text()), Request())


def call(command: Sequence[str | Path], env: Mapping[str, str]) -> None:
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]


@pytest.fixture(scope="module")
def airflow(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """What Airflow made of all documents."""
    folder = tmp_path_factory.mktemp("airflow")
    for name in ("dags", "files"):
        (folder / name).mkdir()
    for path in (*DOCUMENTS, *PARSED):
        made = exported(planned(path), Target.AIRFLOW, strict=False)
        (folder / "dags" / made.file_name).write_text(made.text)
    env = os.environ | {
        "AIRFLOW_HOME": str(folder),
        "AIRFLOW__CORE__DAGS_FOLDER": str(folder / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "false",
        "PADDLEFLOW_FILES": str(folder / "files"),
    }
    names = [planned(path).name for path in DOCUMENTS]
    call([CACHE / "airflow/bin/airflow", "db", "migrate"], env)
    call([CACHE / "airflow/bin/python", HERE / "run_dags.py", folder / "dags", folder / "out", *names], env)
    found: Mapping[str, Any] = json.loads((folder / "out").read_text())
    return found


def test_airflow_parses_all_programs(airflow: Mapping[str, Any]) -> None:
    assert airflow["import_errors"] == {}
    assert len(airflow["dags"]) == len(DOCUMENTS) + len(PARSED)


@pytest.mark.parametrize("path", DOCUMENTS, ids=[path.stem for path in DOCUMENTS])
def test_airflow_does_what_we_do(path: Path, airflow: Mapping[str, Any], tmp_path: Path) -> None:
    made = planned(path)
    theirs = airflow["runs"][made.name]
    ours = run_here(made, tmp_path)
    assert theirs["state"] == {"succeeded": "success"}.get(ours.run.life.state, ours.run.life.state)
    assert states_there(theirs["tasks"]) == states_here(ours)


def states_there(tasks: Mapping[str, list[str]]) -> Counter[tuple[str, str]]:
    """How many iterations of each step ended in which state; without tasks that only help."""
    told = Counter[tuple[str, str]]()
    for name, states in tasks.items():
        if not name.endswith(("--items", "--approval")) and name != "at-the-end":
            step = name.rpartition("--")[2]
            told.update((step, STATES.get(state, state)) for state in states)
    return told


def states_here(world: DoingWorld) -> Counter[tuple[str, str]]:
    """The same of ours. Of a DAG that is left out there are no nodes: its steps are skipped."""
    told = Counter[tuple[str, str]]()
    for node in world.nodes.values():
        if node.kind is not Kind.DAG:
            told[re.sub(r"\[\d+\]", "", node.path).rpartition("/")[2], str(node.state)] += 1
    for name in world.never_begun():
        told[name, "skipped"] += 1
    return told


def check(*files: Path) -> Mapping[str, str]:
    done = subprocess.run([CACHE / "argo-check", *files], capture_output=True, text=True, check=True)
    found: Mapping[str, str] = json.loads(done.stdout)
    return found


def test_argo_takes_all_workflows(tmp_path: Path) -> None:
    files = []
    for path in (*DOCUMENTS, *PARSED):
        made = exported(planned(path), Target.ARGO, strict=False)
        files.append(tmp_path / made.file_name)
        files[-1].write_text(made.text)
    assert check(*files) == {str(file): "" for file in files}


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        ("template: peel", "template: nowhere"),
        ("depends: peel", "depends: nobody"),
        ("entrypoint: main", "entry: main"),
        ("inputs.parameters.what", "inputs.parameters.who"),
    ],
)
def test_argo_would_notice_what_is_wrong(tmp_path: Path, was: str, becomes: str) -> None:
    made = exported(planned(HERE / "documents/kitchen.yaml"), Target.ARGO, strict=False)
    assert was in made.text
    (tmp_path / "wrong.yaml").write_text(made.text.replace(was, becomes))
    assert check(tmp_path / "wrong.yaml")[str(tmp_path / "wrong.yaml")]
