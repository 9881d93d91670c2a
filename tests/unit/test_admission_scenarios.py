"""What admission decides, case by case."""

from __future__ import annotations

import pytest

from support.admission_cases import Case, cases, play

CASES = list(cases())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_what_is_decided(case: Case) -> None:
    play(case)


def test_every_case_says_why() -> None:
    assert [case.id for case in CASES if not case.fields["why"].strip()] == []
