"""How many calls are served at once."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddleflow.problems import Overloaded, ResourceExhausted, TooManyCalls
from pf_kit.limits import Limit
from pf_kit.principal import ANONYMOUS, Principal, PrincipalKind

ALICE = Principal(PrincipalKind.USER, "alice")
BOB = Principal(PrincipalKind.USER, "bob")
JOB = Principal(PrincipalKind.SERVICE, "job")


def enter(limit: Limit, caller: Principal) -> None:
    """What the boundary does with a call: it counts for all, and when its caller is known, for that one too."""
    limit.enter()
    try:
        limit.know(caller)
    except TooManyCalls:
        limit.leave()
        raise


def leave(limit: Limit, caller: Principal) -> None:
    limit.forget(caller)
    limit.leave()


def test_a_full_server_refuses_with_a_delay() -> None:
    limit = Limit(2, 2)
    seen = [limit.full]
    for caller in (ALICE, BOB):
        enter(limit, caller)
        seen.append(limit.full)
    assert seen == [False, False, True]
    with pytest.raises(Overloaded) as caught:
        enter(limit, JOB)
    assert caught.value.retry_after


def test_one_user_cannot_take_all() -> None:
    limit = Limit(10, 2)
    enter(limit, ALICE)
    enter(limit, ALICE)
    with pytest.raises(TooManyCalls) as caught:
        enter(limit, ALICE)
    assert caught.value.retry_after
    enter(limit, BOB)
    leave(limit, ALICE)
    enter(limit, ALICE)


def test_a_service_may_take_all() -> None:
    limit = Limit(3, 1)
    for _ in range(3):
        enter(limit, JOB)


def test_callers_without_a_token_share_one_limit() -> None:
    limit = Limit(10, 1)
    enter(limit, ANONYMOUS)
    with pytest.raises(TooManyCalls):
        enter(limit, ANONYMOUS)


def test_the_replicas_of_a_job_share_one_limit_that_no_user_has() -> None:
    limit = Limit(10, 1)
    first, second = (Principal(PrincipalKind.JOB, "alice", token_id=id_) for id_ in ("1", "2"))
    enter(limit, first)
    with pytest.raises(TooManyCalls):
        enter(limit, second)
    enter(limit, ALICE)
    leave(limit, first)
    enter(limit, second)


@given(st.lists(st.tuples(st.sampled_from([ALICE, BOB, JOB, ANONYMOUS]), st.booleans())))
def test_counts_are_right_after_any_history(steps: list[tuple[Principal, bool]]) -> None:
    limit, held = Limit(5, 2), list[Principal]()
    for principal, entering in steps:
        if entering:
            mine = sum(each == principal for each in held)
            may = len(held) < 5 and (principal is JOB or mine < 2)
            try:
                enter(limit, principal)
            except ResourceExhausted:
                assert not may
            else:
                assert may
                held.append(principal)
        elif principal in held:
            leave(limit, principal)
            held.remove(principal)
        assert limit.under_way == len(held)
    for principal in held:
        leave(limit, principal)
    assert limit.under_way == 0
    assert limit._by_user == {}  # noqa: SLF001  # memory must not grow with the users seen


async def test_waiting_until_nothing_is_under_way() -> None:
    limit = Limit(5, 5)
    await limit.emptied()
    enter(limit, ALICE)
    enter(limit, BOB)
    waiting = asyncio.create_task(limit.emptied())
    await asyncio.sleep(0)
    leave(limit, ALICE)
    await asyncio.sleep(0)
    assert not waiting.done()
    leave(limit, BOB)
    await waiting
