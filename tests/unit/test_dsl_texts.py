"""Whatever texts and values a program has, its document holds the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from paddleflow.pipeline import ContainerStep, Pipeline
from pf_pipeline.documents.model import Step
from pf_pipeline.documents.reading import read

TEXTS = st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
VALUES = st.recursive(
    TEXTS | st.integers() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=6,
)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("texts") / "run.yaml"


@settings(deadline=None, max_examples=200)
@given(command=TEXTS.filter(bool), value=VALUES, variable=TEXTS)
def test_texts_and_values_are_read_as_they_were_written(file: Path, command: str, value: Any, variable: str) -> None:
    def lines() -> None:
        ContainerStep(name="one", command=command, parameters={"p": value}, env={"V": variable})

    document = Pipeline(name="texts", docker_env="x")(lines)().compile(file)
    assert yaml.safe_load(file.read_bytes()) == document
    step = read(file.read_bytes()).document.entry_points["one"]
    assert isinstance(step, Step)
    assert (step.command, step.env.get("V", "")) == (command, variable)
