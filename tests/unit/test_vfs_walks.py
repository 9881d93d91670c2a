"""Who goes through the folders of a folder has the next ones listed while he reads; nobody else has."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from pf_backends.memory.backend import LIKE_OBJECTS, MemoryBackend
from pf_fuse.operations import TOP
from support.vfs_site import ME, Site, got
from support.waiting import wait_until

FOLDERS = [f"d{number:02}" for number in range(20)]


@dataclass
class Walked:
    """A mount of a tree whose backend tells which folders it was asked for."""

    site: Site
    asked: list[str]
    now: list[float]
    """What the clock of the mount says."""
    node: dict[str, int] = field(default_factory=dict)

    def read(self, name: str) -> list[str]:
        """Reads a folder as `ls` does, and waits until all that was begun by that has ended."""
        folder = self.node[name] if name else TOP
        got(self.site.vfs.opendir(ME, folder))
        found = got(self.site.vfs.readdir(folder, 0, 100))
        got(self.site.vfs.releasedir(folder))
        for each in found:
            assert each.known.attributes
            self.node[each.name.decode()] = each.known.attributes.node
        self.site.workers.submit(lambda: None).result(20)
        return [each.name.decode() for each in found]

    def listed(self) -> set[str]:
        return {path.removeprefix("tree/") for path in self.asked}


@pytest.fixture
def walked(tmp_path: Path) -> Walked:
    backend = MemoryBackend(capabilities=LIKE_OBJECTS)
    for folder in FOLDERS:
        for name in "ab":
            backend.put(f"tree/{folder}/{name}", b"1")
    asked, now = list[str](), [0.0]
    backend.before = lambda operation, path: asked.append(path) if operation == "list" else None
    walked = Walked(Site(backend, tmp_path, clock=lambda: now[0], read_only=True), asked, now)
    walked.read("")
    walked.read("tree")
    asked.clear()
    return walked


def test_folders_are_listed_ahead_of_who_goes_through_them_in_order(walked: Walked) -> None:
    walked.read("d00")
    assert walked.listed() == {"d00"}
    walked.read("d01")
    wait_until(lambda: {"d02", "d03"} <= walked.listed())
    for folder in FOLDERS[2:]:
        assert walked.read(folder) == ["a", "b"]
    wait_until(lambda: walked.listed() == set(FOLDERS))
    assert max(Counter(walked.asked).values()) == 1, "no folder was asked for twice"


def test_nothing_is_listed_ahead_of_who_reads_folders_in_no_order(walked: Walked) -> None:
    for folder in ("d09", "d02", "d15", "d07", "d00"):
        walked.read(folder)
    assert walked.listed() == {"d09", "d02", "d15", "d07", "d00"}


def test_no_more_than_a_few_are_listed_ahead(walked: Walked) -> None:
    for folder in FOLDERS[:6]:
        walked.read(folder)
    wait_until(lambda: len(walked.listed()) == 14)
    assert walked.listed() == set(FOLDERS[:14])


def test_who_is_slow_has_none_listed_ahead(walked: Walked) -> None:
    for folder in FOLDERS[:4]:
        walked.read(folder)
    wait_until(lambda: len(walked.listed()) == 12)
    walked.asked.clear()
    for folder in FOLDERS[4:]:
        walked.now[0] += 5
        walked.read(folder)
    assert walked.asked == [f"tree/{folder}" for folder in FOLDERS[4:]]
