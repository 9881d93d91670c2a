"""The programs of the folder `examples` do what its page says."""

from __future__ import annotations

import shutil

import pytest

from support.examples import examples, perform
from support.installation import data_folder
from support.repository import ROOT

FOLDER = ROOT / "examples"


@pytest.mark.timeout(240)
def test_the_examples_run() -> None:
    with data_folder() as made:
        here = made.folder / "examples"
        shutil.copytree(FOLDER, here, ignore=shutil.ignore_patterns("scratch", "__pycache__"))
        for example in examples(here / "README.md"):
            printed = perform(example, here, made.environment)
            assert example.matches(printed), f"$ {example.command}\n{printed}\ninstead of\n{example.output}"


def test_every_example_stands_in_the_page() -> None:
    page = (FOLDER / "README.md").read_text()
    files = [path.name for path in FOLDER.iterdir() if path.suffix in {".py", ".yaml"}]
    pipelines = [f"{path.parent.name}/{path.name}" for path in FOLDER.glob("*/run.yaml")]
    assert [name for name in files + pipelines if f"`{name}`" not in page] == []
