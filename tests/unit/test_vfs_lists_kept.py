"""The kernel may keep a list of a folder for as long as it is right, and what was told of each thing in it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from pf_backends.memory.backend import LIKE_OBJECTS, MemoryBackend
from pf_fuse.operations import Reach
from pf_fuse.vfs.freshness import Freshness
from support.vfs_site import ME, Site, got

LASTS = 5.0


class Listed:
    """A mount of a folder with some files, whose clock is set by hand."""

    def __init__(self, folder: Path, files: int = 10, **how: int) -> None:
        self.backend = MemoryBackend(capabilities=LIKE_OBJECTS)
        self.now = [0.0]
        for number in range(files):
            self.backend.put(f"d/{number}", b"1")
        self.site = Site(self.backend, folder, freshness=Freshness(seconds=LASTS, **how), clock=lambda: self.now[0])

    def kept(self) -> bool:
        """Whether who opens the folder now may read what the kernel has."""
        node = self.site.node("d")
        opened = got(self.site.vfs.opendir(ME, node))
        got(self.site.vfs.releasedir(node))
        return Reach.KEEP_CACHE in opened.reach


@pytest.fixture
def listed(tmp_path: Path) -> Listed:
    return Listed(tmp_path)


def test_a_list_that_was_read_to_the_end_is_kept_until_it_is_old(listed: Listed) -> None:
    assert not listed.kept()
    listed.site.names("d")
    assert listed.kept()
    listed.now[0] += LASTS
    assert not listed.kept()


def test_who_reads_a_part_leaves_nothing_to_keep(listed: Listed) -> None:
    node = listed.site.node("d")
    got(listed.site.vfs.opendir(ME, node))
    assert len(got(listed.site.vfs.readdir(node, 0, 4))) == 4
    assert not listed.kept()


def test_what_is_made_or_removed_here_makes_another_list(listed: Listed) -> None:
    listed.site.names("d")
    listed.site.write("d/new", b"")
    assert not listed.kept()
    assert "new" in listed.site.names("d")
    assert listed.kept()
    listed.site.remove("d/new")
    assert not listed.kept()


def test_what_others_have_made_is_seen_when_the_list_is_old(listed: Listed) -> None:
    listed.site.names("d")
    listed.backend.put("d/others", b"1")
    assert listed.kept()
    listed.now[0] += LASTS
    assert not listed.kept()
    assert "others" in listed.site.names("d")


def test_a_list_that_is_not_in_memory_is_not_kept(tmp_path: Path) -> None:
    listed = Listed(tmp_path, files=3000, most=1000)
    assert len(listed.site.names("d")) == 3000
    assert not listed.kept()
