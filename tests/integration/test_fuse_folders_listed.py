"""Listing folders of a mount: large ones, changing ones, and what the kernel remembers of them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from fixtures_fuse import Mirrored, MirrorMounts
from pf_fuse.kernel.features import Feature
from pf_fuse.operations import Reach
from support.fuse_mounts import MirrorMount
from support.waiting import until

MANY = 100_000


def fill(folder: Path, count: int) -> None:
    folder.mkdir()
    for number in range(count):
        (folder / f"file-{number:06}").touch()


def test_a_hundred_thousand_names_come_once_each(mirror_mounts: MirrorMounts) -> None:
    mount = mirror_mounts()
    (mount.root / f"made-up-{MANY}").mkdir()
    names = os.listdir(mount.place / f"made-up-{MANY}")
    assert sorted(names) == [f"file-{number:06}" for number in range(1, MANY + 1)]
    assert mount.end() == ""


def test_folders_have_their_own_name_and_that_above(mirrored: Mirrored) -> None:
    shown = subprocess.run(["ls", "-a", mirrored.seen], capture_output=True, text=True).stdout.split()
    assert shown == [".", ".."]


async def test_the_kernel_lets_go_of_all_it_was_told_of(mirror_mounts: MirrorMounts) -> None:
    mount = mirror_mounts(manners={"lasts": 60.0})
    fill(mount.root / "some", 1000)
    with os.scandir(mount.place / "some") as listed:
        next(listed)  # and no more: what did not fit is let go of when the folder is closed
    for name in os.listdir(mount.place / "some"):
        (mount.place / "some" / name).stat()
    for name in os.listdir(mount.place / "some"):
        os.unlink(mount.place / "some" / name)
    (mount.place / "some").rmdir()
    await until(lambda: len(mount.statistics()["told"]) <= 1)
    assert mount.end() == ""


def test_without_readdirplus_nothing_is_told_of(mirror_mounts: MirrorMounts) -> None:
    mount = mirror_mounts(without=int(Feature.READDIRPLUS), manners={"lasts": 60.0})
    fill(mount.root / "some", 500)
    assert len(os.listdir(mount.place / "some")) == 500
    assert mount.count("readdirplus") == 0
    assert mount.count("readdir") > 0
    told = mount.statistics()["told"]
    assert sum(told.values()) <= 2


def test_attributes_come_with_the_list(mirror_mounts: MirrorMounts) -> None:
    mount = mirror_mounts(manners={"lasts": 60.0})
    fill(mount.root / "some", 300)
    names = os.listdir(mount.place / "some")
    before = mount.count("lookup")
    assert all((mount.place / "some" / name).stat().st_size == 0 for name in names)
    # One for the statistics themselves.
    assert mount.count("lookup") <= before + 1


def kept(mount: MirrorMount) -> int:
    asked = mount.count("readdirplus")
    assert len(os.listdir(mount.place / "some")) == 300
    return mount.count("readdirplus") - asked


def test_the_kernel_keeps_a_list_if_it_may(mirror_mounts: MirrorMounts) -> None:
    reach = int(Reach.KEEP_CACHE | Reach.CACHE_FOLDER)
    mount = mirror_mounts(manners={"lasts": 60.0, "reach": reach})
    fill(mount.root / "some", 300)
    assert kept(mount) > 0
    assert kept(mount) == 0


def test_folders_and_files_need_not_be_opened(mirror_mounts: MirrorMounts) -> None:
    mount = mirror_mounts(manners={"lasts": 60.0, "zero_open": True})
    fill(mount.root / "some", 300)
    for _ in range(3):
        kept(mount)
        for number in range(20):
            assert (mount.place / "some" / f"file-{number:06}").read_bytes() == b""
    assert mount.count("opendir") == 1
    assert mount.count("open") == 1
    assert mount.count("release") == 0
    assert mount.count("flush") == 1
    assert kept(mount) == 0


def test_a_list_is_read_from_where_it_was_left(mirrored: Mirrored) -> None:
    for number in range(700):
        (mirrored.real / f"file-{number}").touch()
    seen = set()
    with os.scandir(mirrored.seen) as first, os.scandir(mirrored.seen) as second:
        for one, other in zip(first, second, strict=True):
            seen.add(one.name)
            assert one.name == other.name
    assert len(seen) == 700
