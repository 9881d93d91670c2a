"""Answers that are asked for in another way where they would fail."""

from __future__ import annotations

import errno
from concurrent.futures import Future

import pytest

from pf_fuse.arriving import Arriving, unless_failed

GONE = OSError(errno.ESTALE, "it is elsewhere")
KINDS = pytest.mark.parametrize("kind", [Arriving[str], Future[str]], ids=["arriving", "any"])


def instead(error: OSError) -> str:
    assert error is GONE
    return "instead"


@KINDS
def test_what_fails_before_or_after_somebody_knows_a_way_is_asked_for_in_that(kind: type[Future[str]]) -> None:
    before, after = kind(), kind()
    before.set_exception(GONE)
    answers = [unless_failed(before, instead), unless_failed(after, instead)]
    after.set_exception(GONE)
    assert [answer.result(0) for answer in answers] == ["instead"] * 2


@KINDS
def test_what_comes_and_what_fails_by_a_fault_is_told(kind: type[Future[str]]) -> None:
    came, failed = kind(), kind()
    answers = [unless_failed(came, instead), unless_failed(failed, instead)]
    came.set_result("came")
    failed.set_exception(ValueError())
    assert answers[0].result(0) == "came"
    assert isinstance(answers[1].exception(0), ValueError)


def test_what_comes_passes_nobody_on_its_way() -> None:
    coming = Arriving[str]()
    assert unless_failed(coming, instead) is coming


@KINDS
def test_what_fails_in_the_other_way_is_asked_for_in_a_third(kind: type[Future[str]]) -> None:
    def fail(error: OSError) -> str:
        raise error

    coming = kind()
    answer = unless_failed(unless_failed(coming, fail), instead)
    coming.set_exception(GONE)
    assert answer.result(0) == "instead"


@KINDS
def test_what_fails_in_the_other_way_too_has_failed(kind: type[Future[str]]) -> None:
    def fail(error: OSError) -> str:
        raise error

    coming = kind()
    answer = unless_failed(coming, fail)
    coming.set_exception(GONE)
    assert answer.exception(0) is GONE
