"""Who holds the folder of a mount, and what becomes of it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from pf_job.runtimes.local.remote.domain import About, Cache
from pf_job.runtimes.local.remote.folder import MountFolder
from pf_job.runtimes.local.remote.keeper import Keeper
from pf_job.runtimes.local.remote.reporting import Report
from pf_job.runtimes.port import Remote
from support.waiting import until

ABOUT = About(filesystem="fs-ada-data", etag="1", tenant="ada", read_only=False)


class Hearing:
    """Of which mounts it was told that they are over."""

    def __init__(self) -> None:
        self.over: list[str] = []

    async def report(self, report: Report) -> Mapping[str, int | None]:
        raise AssertionError(report)

    async def now(self, about: About) -> Remote:
        raise AssertionError(about)

    async def end(self, about: About, mount_id: str) -> None:
        assert about == ABOUT
        self.over.append(mount_id)


@pytest.fixture
def folder(tmp_path: Path) -> MountFolder:
    made = MountFolder(tmp_path / "mounts" / "one")
    made.make(ABOUT)
    return made


@pytest.fixture
def hearing() -> Hearing:
    return Hearing()


@pytest.fixture
def keeper(tmp_path: Path, hearing: Hearing) -> Keeper:
    return Keeper(tmp_path, Cache([tmp_path / "pages"]), {}, "here", hearing)


def left(keeper_of: Path) -> Sequence[str]:
    return [path.name for path in (keeper_of / "mounts").iterdir()]


def test_a_lock_of_a_folder_that_was_removed_holds_nothing(
    folder: MountFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_file = os.open

    def open_and_lose(path: Path, flags: int, mode: int = 0o777) -> int:
        """Somebody takes the folder away, and makes it anew, before the lock is taken."""
        handle = open_file(path, flags, mode)
        monkeypatch.setattr(os, "open", open_file)
        assert folder.remove()
        folder.make(ABOUT)
        return handle

    monkeypatch.setattr(os, "open", open_and_lose)
    with pytest.raises(BlockingIOError):
        folder.hold()
    os.close(folder.hold())


def test_nobody_claims_what_is_gone(folder: MountFolder) -> None:
    assert folder.remove()
    assert folder.claim() is None


async def test_what_a_crash_left_half_removed_goes(tmp_path: Path, folder: MountFolder, keeper: Keeper) -> None:
    folder.place.rmdir()
    folder.path.rename(folder.path.with_name("one.gone"))
    await keeper.rest(10)
    assert left(tmp_path) == []
    keeper.close()


async def test_what_could_not_be_uploaded_is_kept_and_told_once(
    tmp_path: Path, folder: MountFolder, keeper: Keeper, hearing: Hearing
) -> None:
    (folder.state / "stage").mkdir()
    (folder.state / "stage" / "mine").touch()
    keeper.sweep()
    await until(lambda: hearing.over == ["one"])
    await keeper.rest(10)
    keeper.sweep()
    await keeper.rest(10)
    assert (left(tmp_path), hearing.over) == (["one"], ["one"])
    keeper.close()


async def test_an_end_that_cannot_be_settled_is_told(tmp_path: Path, folder: MountFolder, keeper: Keeper) -> None:
    aside = folder.state / "aside"
    aside.mkdir()
    (aside / "mine").touch()
    (tmp_path / "unsent").touch()
    words = await keeper.settle([str(folder.lock)], "replica")
    assert "whether all is uploaded cannot be told" in words
    keeper.close()


def test_what_two_filesystems_leave_of_a_replica_is_all_kept(tmp_path: Path) -> None:
    for name in ("one", "other"):
        folder = MountFolder(tmp_path / "mounts" / name)
        folder.make(ABOUT)
        (folder.state / "aside").mkdir()
        (folder.state / "aside" / "mine").write_text(name)
        assert folder.rescue(tmp_path / "unsent") == ["mine"]
    assert {path.name: path.read_text() for path in (tmp_path / "unsent").iterdir()} == {
        "mine": "one",
        "mine.1": "other",
    }
