"""Who goes through the folders of a folder has the next ones listed while he reads; nobody else has."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

import pytest

from pf_backends.memory.backend import LIKE_OBJECTS, MemoryBackend
from pf_fuse.operations import TOP
from pf_fuse.vfs.freshness import Freshness
from support.vfs_site import ME, PATIENCE, Site, got
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
        found = self.opened(name)
        self.site.workers.submit(lambda: None).result(20)
        return found

    def opened(self, name: str) -> list[str]:
        """Reads a folder as `ls` does."""
        folder = self.node[name] if name else TOP
        got(self.site.vfs.opendir(ME, folder))
        found = got(self.site.vfs.readdir(folder, 0, 100))
        got(self.site.vfs.releasedir(folder))
        for each in found:
            assert each.known.attributes
            self.node[each.name.decode()] = each.known.attributes.node
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


def test_many_who_go_through_folders_leave_threads_to_others(tmp_path: Path) -> None:
    """No more than a few are listed ahead for all of them."""
    backend, go_on, asked = MemoryBackend(capabilities=LIKE_OBJECTS), Event(), list[str]()
    for top in "abcd":
        for folder in FOLDERS:
            backend.put(f"{top}/{folder}/f", b"1")
    site = Site(backend, tmp_path, read_only=True, workers=32)
    trees = [Walked(site, asked, [0.0]) for _ in "abcd"]
    for tree, top in zip(trees, "abcd", strict=True):
        tree.read("")
        tree.read(top)
        tree.read(FOLDERS[0])

    def wait(operation: str, path: str) -> None:
        if operation == "list" and path[2:] not in FOLDERS[:4]:
            asked.append(path)
            assert go_on.wait(PATIENCE)

    backend.before = wait
    for folder in FOLDERS[1:4]:
        for tree in trees:
            tree.opened(folder)
    # Whatever was begun before has a thread by now.
    for _ in range(20):
        site.workers.submit(lambda: None).result(PATIENCE)
    assert 0 < len(asked) <= 8
    go_on.set()
    site.die()


def test_a_folder_with_too_much_is_not_listed_again_and_again_for_nothing(tmp_path: Path) -> None:
    backend, asked, now = MemoryBackend(capabilities=LIKE_OBJECTS), list[str](), [0.0]
    for number in range(3000):
        backend.put(f"large/{number}", b"1")
    site = Site(backend, tmp_path, freshness=Freshness(most=1000), clock=lambda: now[0], read_only=True)
    backend.before = lambda operation, path: asked.append(path) if operation == "list" else None
    large = site.node("large")
    asked.clear()
    for number in range(20):
        assert got(site.vfs.lookup(ME, large, b"%d" % number)).attributes
    assert len(asked) == 2, "once, as far as it may be kept"
    now[0] += 61.0
    for number in range(20, 40):
        assert got(site.vfs.lookup(ME, large, b"%d" % number)).attributes
    assert len(asked) == 4
    site.die()
