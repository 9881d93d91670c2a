"""What the pages about pipelines in Python show is what happens."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import paddleflow.pipeline
from pf_pipeline.documents.reading import read
from reference import dsl
from support.pipeline_graphs import accepted
from support.repository import ROOT

PAGE = (ROOT / "docs/howto/dsl.md").read_text()
BLOCK = re.compile(r"^```(python|yaml)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def shown() -> list[tuple[str, str | None]]:
    """Programs, and the documents that stand below them."""
    blocks = [(found[1], found[2]) for found in BLOCK.finditer(PAGE)]
    following = [*blocks[1:], ("python", "")]
    return [
        (text, after if what == "yaml" else None)
        for (kind, text), (what, after) in zip(blocks, following, strict=True)
        if kind == "python"
    ]


@pytest.mark.parametrize(("program", "document"), shown())
def test_a_program_of_the_page_writes_the_document_below_it(
    program: str, document: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(program, "howto", "exec"), {})  # noqa: S102 -- it is our page
    (file,) = tmp_path.glob("*.yaml")
    accepted(file.read_text())
    assert document in (None, file.read_text())


def test_documents_are_found() -> None:
    assert len(shown()) == 4
    assert [bool(document) for _, document in shown()] == [True, True, True, False]
    assert all(read(document).document.name for _, document in shown() if document)


def test_the_reference_has_every_name() -> None:
    page = dsl.page()
    assert [
        name for name in paddleflow.pipeline.__all__ if f"`{name}`" not in page and f"## {name}\n" not in page
    ] == []
    assert "::" not in page
    assert ": \n" not in page
