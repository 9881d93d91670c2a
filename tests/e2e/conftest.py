"""The stack that the tests of the command `pf` share: to set one up takes longer than most of them do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.stacks import Stack, new_stack

CAP_SYS_ADMIN = 21
"""The bit of the right to mount, from <linux/capability.h>."""


def may_mount() -> bool:
    status = Path("/proc/self/status").read_text()
    rights = next(line.split()[1] for line in status.splitlines() if line.startswith("CapEff:"))
    return bool(int(rights, 16) >> CAP_SYS_ADMIN & 1)


collect_ignore = [] if may_mount() else ["test_stack_full_disk.py", "test_rounds_full_disk.py"]
"""A small disk of its own needs the right to mount it."""


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
