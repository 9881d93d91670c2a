"""Files that are only written go past the kernel's cache, and so does whoever has one open meanwhile."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pf_backends.memory.backend import LIKE_OBJECTS, MemoryBackend
from pf_fuse.operations import TOP, Changes, Reach
from support.vfs_site import ME, PlainKernel, Site, StraightContent, got


@pytest.mark.parametrize("able", [True, False])
def test_all_who_have_a_file_open_that_is_written_go_past_the_cache_or_none(tmp_path: Path, able: bool) -> None:
    site = Site(MemoryBackend(capabilities=LIKE_OBJECTS), tmp_path)
    past = Reach.DIRECT if able else Reach.NOTHING
    site.vfs.begin(PlainKernel(passthrough=able))
    for name, first, reach in ((b"only", os.O_WRONLY, past), (b"both", os.O_RDWR, Reach.NOTHING)):
        known, opened = got(site.vfs.create(ME, TOP, name, 0o644, first))
        assert known.attributes
        node = known.attributes.node
        others = [got(site.vfs.open(ME, node, flags)) for flags in (os.O_WRONLY, os.O_RDWR, os.O_RDONLY)]
        assert {each.reach & Reach.DIRECT for each in (opened, *others)} == {reach}


@pytest.mark.parametrize("able", [True, False])
def test_who_wants_each_write_synced_has_it_stored_at_once_or_goes_through_the_cache(
    tmp_path: Path, able: bool
) -> None:
    backend = MemoryBackend(capabilities=LIKE_OBJECTS)
    site = Site(backend, tmp_path)
    site.vfs.begin(PlainKernel(passthrough=able))
    _, opened = got(site.vfs.create(ME, TOP, b"alone", 0o644, os.O_WRONLY | os.O_SYNC))
    assert Reach.DIRECT not in opened.reach, "the kernel asks for it to be synced"
    node = site.create("beside")
    got(site.vfs.open(ME, node, os.O_WRONLY | os.O_DSYNC))
    assert got(site.vfs.write(node, 0, memoryview(b"kept"), os.O_WRONLY | os.O_DSYNC)) == 4
    stored = backend.fetch("beside", limit=10)[1] if able else b"kept"
    assert stored == b"kept"


def test_a_file_that_lends_rights_is_written_through_the_cache_which_takes_them_away(tmp_path: Path) -> None:
    site = Site(MemoryBackend(), tmp_path)
    site.vfs.begin(PlainKernel(passthrough=True))
    for name, mode, past in ((b"plain", 0o755, Reach.DIRECT), (b"lends", 0o6755, Reach.NOTHING)):
        _, opened = got(site.vfs.create(ME, TOP, name, mode, os.O_WRONLY))
        assert opened.reach & Reach.DIRECT == past


@pytest.mark.parametrize(("given", "left"), [(0o6755, 0o755), (0o4711, 0o711), (0o2644, 0o2644)])
def test_rights_that_are_given_to_a_file_while_it_is_only_written_go_with_the_next_write(
    tmp_path: Path, given: int, left: int
) -> None:
    backend = MemoryBackend()
    site = Site(backend, tmp_path)
    site.vfs.begin(PlainKernel(passthrough=True))
    node = site.create("f")
    site.put(node, b"some")
    got(site.vfs.setattr(ME, node, Changes(mode=given)))
    site.put(node, b"more", 4)
    found = got(site.vfs.getattr(ME, node)).attributes
    assert found
    assert found.mode & 0o7777 == left
    site.close(node)
    assert backend.stat("f").mode == left


class WillingKernel(PlainKernel):
    """It reads by itself whatever it is given."""

    def register(self, descriptor: int) -> int:
        return 7


def now_whole(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are here as a whole from now on, and the kernel takes them."""
    monkeypatch.setattr(StraightContent, "whole", lambda _: 0)
    site.vfs.begin(WillingKernel(passthrough=True))


def test_who_opens_what_is_open_since_another_process_served_gets_it_the_same_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel refuses another one, also where the file is here as a whole by now."""
    backend = MemoryBackend()
    backend.put("read", b"content")
    site = Site(backend, tmp_path)
    site.vfs.begin(PlainKernel(passthrough=True))
    assert Reach.DIRECT in site.opened("read", os.O_RDONLY).reach
    both, _ = got(site.vfs.create(ME, TOP, b"both", 0o644, os.O_RDWR))
    only, _ = got(site.vfs.create(ME, TOP, b"only", 0o644, os.O_WRONLY))
    site.die()
    after = Site(backend, tmp_path)
    now_whole(after, monkeypatch)
    assert after.read("read") == b"content"
    again = after.opened("read", os.O_RDONLY)
    assert Reach.DIRECT in again.reach
    assert not again.backing
    for known, flags, past in ((both, os.O_WRONLY, Reach.NOTHING), (only, os.O_RDWR, Reach.DIRECT)):
        assert known.attributes
        assert got(after.vfs.open(ME, known.attributes.node, flags)).reach & Reach.DIRECT == past
    after.die()


@pytest.mark.parametrize("size", [100, 2 << 20])
def test_the_kernel_reads_by_itself_what_was_closed_when_another_process_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    backend = MemoryBackend()
    backend.put("file", bytes(size))
    site = Site(backend, tmp_path)
    site.vfs.begin(PlainKernel(passthrough=True))
    site.close(site.open("file"))
    now_whole(site, monkeypatch)
    opened = site.opened("file", os.O_RDONLY)
    assert opened.backing
    site.close(site.node("file"))
    site.die()
    after = Site(backend, tmp_path)
    now_whole(after, monkeypatch)
    again = after.opened("file", os.O_RDONLY)
    assert again.backing
    assert Reach.DIRECT not in again.reach
    after.die()
