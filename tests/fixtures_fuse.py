"""Mounts for tests."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.fuse_holders import Holding, hold
from support.fuse_mounts import MirrorMount, begin, detach, detach_below, missing
from support.servers import short_folder

MirrorMounts = Callable[..., MirrorMount]
Holdings = Callable[..., Holding]
SETTLED = 0.1


@pytest.fixture
def cache_home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where mounts of the user keep what is theirs; none is left there."""
    folder = short_folder()
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    yield folder
    detach_below(folder)


@pytest.fixture(scope="module")
def mirror_mounts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MirrorMounts]:
    """Mounts mirrors of new folders."""
    if missing():
        pytest.skip(missing())
    begun: list[MirrorMount] = []

    def make(place: Path | None = None, **how: Any) -> MirrorMount:
        folder = tmp_path_factory.mktemp("mirror")
        mount = begin(folder / "root", place or folder / "place", **how)
        begun.append(mount)
        return mount

    yield make
    for mount in begun:
        detach(mount.place)
    for mount in begun:
        mount.end()


@pytest.fixture
def holdings(tmp_path: Path) -> Iterator[Holdings]:
    """Holders of mirrors of a folder."""
    if missing():
        pytest.skip(missing())
    begun: list[Holding] = []

    def make(**how: Any) -> Holding:
        begun.append(hold(tmp_path, **({"settled": SETTLED} | how)))
        return begun[-1]

    yield make
    for holding in begun:
        holding.end()
        detach(holding.place)


WAYS: dict[str, dict[str, Any]] = {
    "asked": {},
    "cached": {"manners": {"lasts": 60.0}},
    "later": {"later": True},
    "linux-6.1": {"linux": "6.1"},
    "passthrough": {"manners": {"passthrough": True}},
}


@pytest.fixture(scope="module", params=list(WAYS))
def mirror_mount(mirror_mounts: MirrorMounts, request: pytest.FixtureRequest) -> MirrorMount:
    """A mirror, mounted in each of the ways in which one can be."""
    return mirror_mounts(**WAYS[request.param])


@pytest.fixture
def mirrored(mirror_mount: MirrorMount, request: pytest.FixtureRequest) -> Mirrored:
    """A new folder in a mirror, as it is and as it looks."""
    name = re.sub(r"\W+", "-", request.node.name)
    (mirror_mount.root / name).mkdir()
    return Mirrored(mirror_mount.root / name, mirror_mount.place / name)


@dataclass(frozen=True, slots=True)
class Mirrored:
    """One folder from two sides."""

    real: Path
    seen: Path
