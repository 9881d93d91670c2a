"""Changes of files are noticed as they happen, by whoever waits for them, and cost nothing while they do not."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pf_job.runtimes.local import layout, logs, noticing
from pf_job.runtimes.local.noticing import Notices

PATIENCE = 20.0


@pytest.fixture
async def notices() -> AsyncIterator[Notices]:
    made = Notices()
    yield made
    made.close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "log"
    made.touch()
    return made


async def append(file: Path) -> None:
    """In a process of its own, as a replica does."""
    process = await asyncio.create_subprocess_exec("sh", "-c", 'echo line >> "$0"', file)
    assert await process.wait() == 0


def watched(notices: Notices) -> int:
    """Files of which the kernel tells."""
    told = Path(f"/proc/self/fdinfo/{notices._handle}").read_text()  # noqa: SLF001 - nobody else has use for it
    return told.count("inotify wd")


async def test_who_waits_hears_of_a_change_at_once(notices: Notices, file: Path) -> None:
    with notices.of([file]) as change:
        async with asyncio.timeout(PATIENCE):
            waiting = asyncio.create_task(change())
            await append(file)
            written = time.monotonic()
            await waiting
    assert time.monotonic() - written < PATIENCE / 2


async def test_a_change_between_two_waits_is_heard(notices: Notices, file: Path, tmp_path: Path) -> None:
    other = tmp_path / "record"
    other.touch()
    with notices.of([file, other]) as change:
        await append(other)
        async with asyncio.timeout(PATIENCE):
            await change()


async def test_each_hears_of_a_file_that_several_wait_for(notices: Notices, file: Path) -> None:
    with notices.of([file]) as first, notices.of([file]) as second:
        await append(file)
        async with asyncio.timeout(PATIENCE):
            await asyncio.gather(first(), second())
        assert watched(notices) == 1
    assert watched(notices) == 0


async def test_nothing_is_heard_while_nothing_happens(notices: Notices, file: Path) -> None:
    with notices.of([file]) as change, pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            await change()


async def test_a_file_that_is_removed_is_heard_of(notices: Notices, file: Path) -> None:
    with notices.of([file]) as change:
        file.unlink()
        async with asyncio.timeout(PATIENCE):
            await change()


async def test_where_the_kernel_tells_nothing_it_is_looked_again_soon(
    notices: Notices, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused() -> int:
        raise OSError(24, "too many")

    monkeypatch.setattr(noticing, "new_notices", refused)
    with notices.of([file]) as change:
        async with asyncio.timeout(PATIENCE):
            await change()


def test_the_log_of_a_replica_that_is_just_being_started_has_no_end_yet(tmp_path: Path) -> None:
    (tmp_path / layout.LOG).touch()
    assert not logs.read(tmp_path, 0, 1).end
    assert not logs.is_over(tmp_path)
    (tmp_path / layout.LOG).unlink()
    assert logs.is_over(tmp_path)
