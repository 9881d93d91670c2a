"""The stack that the tests of the command `pf` share: to set one up takes longer than most of them do."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.stacks import Stack, new_stack


@pytest.fixture(scope="session")
def started() -> Iterator[tuple[Stack, str]]:
    """A stack, and what its first start said."""
    with new_stack() as stack:
        yield stack, stack.pf("up")


@pytest.fixture
def stack(started: tuple[Stack, str]) -> Stack:
    """It is up; each test leaves it so."""
    return started[0]


@pytest.fixture
def first_words(started: tuple[Stack, str]) -> str:
    return started[1]
