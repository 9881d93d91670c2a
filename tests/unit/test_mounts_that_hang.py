"""Mounts of jobs whose clients say nothing."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from pf_job.runtimes.local.remote import keeper as keeping
from pf_job.runtimes.local.remote.domain import About, Cache
from pf_job.runtimes.local.remote.folder import MountFolder
from pf_job.runtimes.local.remote.keeper import Keeper

HANGING = 40


@pytest.fixture
def keeper(tmp_path: Path) -> Iterator[Keeper]:
    made = Keeper(tmp_path, Cache([tmp_path / "pages"]), {}, "here", None)
    yield made
    made.close()


@pytest.fixture
def hanging(tmp_path: Path) -> Iterator[Callable[[], MountFolder]]:
    """Folders of mounts whose clients take calls, and never answer."""
    with ExitStack() as stack:

        def another() -> MountFolder:
            folder = quiet(tmp_path)
            for name in ("holder", "control"):
                kind = socket.SOCK_SEQPACKET if name == "holder" else socket.SOCK_STREAM
                listener = stack.enter_context(socket.socket(socket.AF_UNIX, kind))
                listener.bind(str(folder.state / name))
                listener.listen(64)
            return folder

        yield another


def quiet(data: Path) -> MountFolder:
    """The folder of a mount that is over."""
    folder = MountFolder(data / "mounts" / f"m{len(list(data.glob('mounts/*')))}")
    folder.make(About(filesystem="fs-ada-data", etag="1", tenant="ada", read_only=False))
    return folder


async def test_mounts_that_hang_hold_up_no_other(
    tmp_path: Path, keeper: Keeper, hanging: Callable[[], MountFolder]
) -> None:
    stuck = [asyncio.create_task(keeper.settle([str(hanging().lock)], f"r{n}")) for n in range(HANGING)]
    async with asyncio.timeout(5):
        assert await keeper.settle([str(quiet(tmp_path).lock)], "other") == ""
    assert not any(task.done() for task in stuck)
    for task in stuck:
        task.cancel()
    await asyncio.gather(*stuck, return_exceptions=True)


async def test_the_end_of_a_replica_is_told_though_its_mount_is_silent(
    keeper: Keeper, hanging: Callable[[], MountFolder], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeping, "LISTEN", 0.05)
    monkeypatch.setattr(keeping, "SLOW", 0.2)
    folder = hanging()
    async with asyncio.timeout(5):
        words = await keeper.settle([str(folder.lock)], "replica")
    assert "has said nothing" in words
    assert str(folder.state) in words
