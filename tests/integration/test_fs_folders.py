"""Folders on a real disk, full of links, some of which move while they are looked at."""

from __future__ import annotations

import asyncio
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paddleflow.problems import FolderNotAllowed, FolderUnusable, PathEscapes
from pf_fs import disk
from pf_fs.disk import MachineDisk
from pf_fs.domain import Filesystem, Kind
from pf_fs.rules import Rules
from pf_fs.service import Folders
from pf_fs.urls import place_of

NAMES = st.sampled_from(["a", "b", "c"])
TARGETS = st.sampled_from(
    ["a", "b", "a/b", ".", "..", "../..", "../outside", "../data2", "/", "/etc", "/nowhere", "{top}", "{top}/outside"]
)
PLACES = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
SUB_PATHS = st.lists(st.sampled_from(["a", "b", "c", "outside", "etc"]), max_size=5).map("/".join)
REFUSED = (FolderNotAllowed, FolderUnusable, PathEscapes)


def folders(top: Path) -> Folders:
    rules = Rules((PurePosixPath(top / "secret"),))
    return Folders(disk=MachineDisk(), rules=rules, roots=[str(top / "{user}"), str(top / "shared")])


def filesystem(folder: Path, *, confined: bool = False) -> Filesystem:
    return Filesystem(
        owner="alice",
        name="data",
        url=f"local://{folder}",
        kind=Kind.LOCAL,
        folder=PurePosixPath(folder),
        confined=confined,
    )


@contextmanager
def top_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        top = Path(os.path.realpath(name))
        for folder in ("data", "data2", "outside/etc", "secret"):
            (top / folder).mkdir(parents=True)
        yield top


def plant(top: Path, links: dict[str, str], made: list[str]) -> None:
    """Folders and links in the filesystem, as far as each finds its place free."""
    for place in made:
        with suppress(OSError):
            (top / "data" / place).mkdir(parents=True)
    for place, target in links.items():
        path = top / "data" / place
        with suppress(OSError):
            if Path(os.path.realpath(path.parent)).is_relative_to(top):
                path.symlink_to(target.format(top=top))


@settings(max_examples=150)
@given(st.dictionaries(PLACES, TARGETS, max_size=6), st.lists(PLACES, max_size=6), SUB_PATHS)
def test_whatever_links_there_are_nothing_outside_is_ever_opened(
    links: dict[str, str], made: list[str], sub_path: str
) -> None:
    with top_folder() as top:
        plant(top, links, made)
        data = top / "data"
        try:
            found = asyncio.run(folders(top).open(filesystem(data), PurePosixPath(sub_path)))
        except REFUSED:
            real = Path(os.path.realpath(data / sub_path))
            assert not (real.is_relative_to(data) and real.is_dir()), "what is inside is not refused"
            return
        assert found.path.is_relative_to(data)
        assert os.path.realpath(found.path) == str(found.path)
        status = Path(found.path).stat()
        assert (found.device, found.inode) == (status.st_dev, status.st_ino)


@pytest.mark.parametrize("inner", ["", "a", "a/b"])
async def test_a_folder_that_is_swapped_all_the_time_never_leads_out(inner: str) -> None:
    """While one thread puts a link out in the place of a folder and takes it away again."""
    with top_folder() as top:
        victim = top / "data" / inner
        (victim / "x").mkdir(parents=True)
        (top / "outside" / "x").mkdir()
        forbidden = {path.stat().st_ino for path in (top / "outside", top / "outside" / "x")}
        stop = threading.Event()
        swapper = threading.Thread(target=_swap, args=(victim, top, stop))
        swapper.start()
        try:
            outcomes, deadline = list[int | None](), time.monotonic() + 20
            # On a busy machine the threads take turns so rarely that all tries may meet the same.
            while len(outcomes) < 300 or (len(set(outcomes)) < 2 and time.monotonic() < deadline):
                outcomes.append(await _outcome(top, PurePosixPath(inner) / "x"))
        finally:
            stop.set()
            swapper.join()
        assert forbidden.isdisjoint(outcomes)
        assert None in outcomes, "some were refused"
        assert set(outcomes) != {None}, "some were found"


def _swap(victim: Path, top: Path, stop: threading.Event) -> None:
    aside = top / "aside"
    while not stop.is_set():
        victim.rename(aside)
        victim.symlink_to(top / "outside")
        victim.unlink()
        aside.rename(victim)


async def _outcome(top: Path, below: PurePosixPath) -> int | None:
    """The inode of what was opened; None if that was refused."""
    try:
        return (await folders(top).open(filesystem(top / "data"), below)).inode
    except REFUSED:
        return None


async def test_a_disk_that_does_not_answer_holds_nobody_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = threading.Event()
    monkeypatch.setattr(disk, "ANSWER_SECONDS", 0.05)
    monkeypatch.setattr(disk, "_look", lambda _path: answer.wait(20))
    try:
        with pytest.raises(FolderUnusable, match="did not answer within"):
            await MachineDisk().look(PurePosixPath(tmp_path))
    finally:
        answer.set()


async def test_a_root_may_be_a_link_itself(tmp_path: Path) -> None:
    top = Path(os.path.realpath(tmp_path))
    (top / "real" / "models").mkdir(parents=True)
    (top / "alice").symlink_to(top / "real")
    chosen = await folders(top).choose(place_of(f"local://{top}/alice/models"), "alice", confined=True)
    assert chosen.path == PurePosixPath(top / "real" / "models")
    again = await folders(top).open(filesystem(Path(chosen.path), confined=True), PurePosixPath())
    assert again == chosen
    with pytest.raises(FolderNotAllowed):
        await folders(top).choose(place_of(f"local://{top}/alice/models"), "bobby", confined=True)
