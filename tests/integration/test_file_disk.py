"""Files of the machine for many callers at once: none keeps the others out for long."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from paddleflow.problems import FolderUnusable, Overloaded
from pf_fs.files.disk import THREADS_OF_DISK, MachineFiles, Patience
from pf_fs.files.domain import Digest, DigestMode, Done, Fault, Pending, Stat
from pf_fs.files.remembering import Memory
from pf_kit.clock import SystemClock
from support.folders_beneath import folder_of

ENDLESS = 2**42
"""Bytes of a file that takes hours to read, and no room."""


def machine(**patience: float) -> MachineFiles:
    return MachineFiles(Memory(time.time_ns), SystemClock(), Patience(**patience))


def endless(base: Path) -> str:
    with (base / "endless").open("wb") as file:
        file.truncate(ENDLESS)
    return "endless"


async def digest(files: MachineFiles, base: Path, path: str) -> Sequence[Digest | Pending | Fault]:
    return await files.at(folder_of(base)).digest([path], DigestMode.CONTENT)


async def test_a_call_leaves_the_rest_for_the_next(tmp_path: Path) -> None:
    (tmp_path / "small").write_text("x")
    files = machine(work=0.2)
    told = await files.at(folder_of(tmp_path)).digest([endless(tmp_path), "small"], DigestMode.CONTENT)
    assert told == [Pending(), Pending()]
    assert isinstance((await digest(files, tmp_path, "small"))[0], Digest)


async def test_what_is_asked_again_goes_on_path_by_path(tmp_path: Path) -> None:
    """Also where nothing of a path can be kept for the next call."""
    paths = [f"p{number}" for number in range(40)]
    for path in paths:
        (tmp_path / path).write_bytes(os.urandom(2**20))
    files, left, calls = machine(work=0.02), paths, 0
    while left:
        told = await files.at(folder_of(tmp_path)).digest(left, DigestMode.CONTENT)
        pending = [path for path, each in zip(left, told, strict=True) if isinstance(each, Pending)]
        assert len(pending) < len(left)
        left, calls = pending, calls + 1
    assert calls > 1


async def test_a_disk_that_does_not_answer_is_said_so_and_its_threads_come_back(tmp_path: Path) -> None:
    files, path = machine(work=3600, answer=0.2, wait=10), endless(tmp_path)
    for _ in range(2 * THREADS_OF_DISK):
        with pytest.raises(FolderUnusable, match="did not answer"):
            await digest(files, tmp_path, path)
    assert isinstance((await files.at(folder_of(tmp_path)).stat([path]))[0], Stat)


async def test_who_finds_no_thread_is_sent_away_and_may_come_again(tmp_path: Path) -> None:
    files, path = machine(work=3600, answer=3600, wait=0.2), endless(tmp_path)
    others = [asyncio.create_task(digest(files, tmp_path, path)) for _ in range(THREADS_OF_DISK)]
    await asyncio.sleep(0)
    with pytest.raises(Overloaded, match="busy"):
        await files.at(folder_of(tmp_path)).stat([path])
    for other in others:
        other.cancel()
    async with asyncio.timeout(20):
        while True:
            with suppress(Overloaded):
                assert isinstance((await files.at(folder_of(tmp_path)).stat([path]))[0], Stat)
                break


async def test_many_callers_at_once_are_served(tmp_path: Path) -> None:
    files, folder = machine(wait=20), folder_of(tmp_path)
    async with asyncio.timeout(30):
        made = await asyncio.gather(
            *(files.at(folder).prepare([f"a/{name}/{number}" for number in range(20)]) for name in range(100))
        )
    assert all(each == Done() for told in made for each in told)
    assert len(os.listdir(tmp_path / "a")) == 100  # noqa: PTH208  # only how many


async def test_a_folder_that_is_gone_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "base").mkdir()
    folder = folder_of(tmp_path / "base")
    (tmp_path / "base").rmdir()
    with pytest.raises(FolderUnusable, match="cannot be used: No such file"):
        await machine().at(folder).stat([""])


async def test_folders_made_at_the_same_time_all_have_the_permissions_of_the_one_above(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    files = machine()
    for turn in range(40):
        await asyncio.gather(*(files.at(folder_of(tmp_path)).prepare([f"{turn}/new/{n}/file"]) for n in range(4)))
    wrong = [each for each in tmp_path.rglob("*") if each.stat().st_mode & 0o777 != 0o777]
    assert wrong == []
