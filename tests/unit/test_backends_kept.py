"""What is set beside bytes that others write to meanwhile."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pf_backends.entries import Condition, Entry, Facts, Kind
from pf_backends.errors import Changed
from pf_backends.kept import require_untouched
from pf_backends.port import ANYTHING

BEFORE = Entry("f", Kind.FILE, size=3, modified=1, version="one", mode=0o600)
MODE, TIME = Facts(mode=0o640), Facts(modified=2)
THIS = Condition(version="one")


@pytest.mark.parametrize(
    ("after", "facts"),
    [(replace(BEFORE, mode=0o640), MODE), (replace(BEFORE, modified=2, version="two"), TIME)],
    ids=["mode", "time"],
)
def test_what_is_set_itself_is_no_change_of_the_bytes(after: Entry, facts: Facts) -> None:
    assert require_untouched(BEFORE, after, facts, THIS) == after


@pytest.mark.parametrize(
    ("after", "facts"),
    [(replace(BEFORE, modified=5, version="theirs"), MODE), (replace(BEFORE, size=4, version="theirs"), TIME)],
    ids=["mode", "time"],
)
def test_what_others_write_meanwhile_is(after: Entry, facts: Facts) -> None:
    with pytest.raises(Changed):
        require_untouched(BEFORE, after, facts, THIS)
    assert require_untouched(BEFORE, after, facts, ANYTHING) == after
