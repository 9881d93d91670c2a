"""The commands in the pages do what the pages say."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.examples import examples, perform
from support.installation import data_folder
from support.repository import ROOT

PAGES = [path for path in sorted((ROOT / "docs").rglob("*.md")) if list(examples(path))]


@pytest.mark.timeout(180)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_tells_the_truth(page: Path) -> None:
    with data_folder() as made:
        for example in examples(page):
            printed = perform(example, made.folder, made.environment)
            assert example.matches(printed), f"$ {example.command}\n{printed}\ninstead of\n{example.output}"
