"""What a real kernel allows is found by trying."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from pf_fuse.kernel import libc
from pf_fuse.kernel.backing import OwnRegistry
from pf_fuse.kernel.features import LINUX, USUAL
from pf_fuse.kernel.libc import Mounting
from pf_fuse.kernel.mounting import MountOptions, begin_mount
from pf_fuse.kernel.probe import Findings, look_at, why_not
from support.fuse_mounts import detach, missing


@pytest.fixture(autouse=True)
def _possible() -> None:
    if missing():
        pytest.skip(missing())


@pytest.fixture
def stacked(tmp_path: Path) -> Iterator[Path]:
    """A folder of a filesystem that lies over others."""
    folders = [tmp_path / name for name in ("lower", "upper", "work", "stacked")]
    for folder in folders:
        folder.mkdir()
    lower, upper, work, place = folders
    try:
        libc.mount("overlay", str(place), "overlay", Mounting.NONE, f"lowerdir={lower},upperdir={upper},workdir={work}")
    except OSError:
        # A machine without overlayfs has no such caches; a mount of this kind is as good.
        pytest.skip("this kernel has no overlayfs")
    yield place
    detach(place)


def found(place: Path, cached: list[Path], linux: str = "") -> Findings:
    place.mkdir()
    device, agreement = begin_mount(place, MountOptions(), USUAL, LINUX.get(linux))
    try:
        return look_at(agreement, str(place), OwnRegistry(device), cached)
    finally:
        detach(place)
        os.close(device)


def test_what_is_found_is_what_the_kernel_does(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    findings = found(tmp_path / "place", [cache])
    assert findings.linux == os.uname().release
    usable = {thing.name: thing.usable for thing in findings.things}
    assert usable["max_pages"]
    assert usable[f"passthrough:{cache}"] is usable["passthrough"]
    row = findings.row()
    assert row["transport"] == "kernel"


def test_an_older_kernel_says_what_it_lacks(tmp_path: Path) -> None:
    findings = found(tmp_path / "place", [tmp_path], linux="6.1")
    why = {thing.name: thing.why for thing in findings.things if not thing.usable}
    assert why["passthrough"] == why["resend"] == "it takes Linux 6.9"
    assert not any(name.startswith("passthrough:") for name in why)


def test_a_stacked_cache_is_refused_by_the_kernel(tmp_path: Path, stacked: Path) -> None:
    findings = found(tmp_path / "place", [stacked])
    things = {thing.name: thing for thing in findings.things}
    if not things["passthrough"].usable:
        pytest.skip("this kernel has no passthrough")
    assert "overlayfs" in things[f"passthrough:{stacked}"].why
    assert not things[f"passthrough:{stacked}"].usable


def test_mounting_is_possible_here() -> None:
    assert why_not() == ""
