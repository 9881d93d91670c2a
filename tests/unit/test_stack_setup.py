"""What a data folder may be."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pf_kit.embedded.refusal import Refusal
from pf_stack.layout import Layout
from pf_stack.setup import LONGEST_PATH, claim


@pytest.mark.parametrize("name", ['a"b', "$HOME", "`id`", "a\\b", "a\nb", os.fsdecode(b"a\xff"), "x/" * LONGEST_PATH])
def test_a_path_that_postgres_cannot_work_with_is_refused_and_not_made(tmp_path: Path, name: str) -> None:
    with pytest.raises(Refusal, match="the path of the data folder") as refused:
        claim(Layout(tmp_path / name, is_default=False))
    assert str(refused.value).isascii()
    assert list(tmp_path.iterdir()) == []
