"""Disks that are full, broken, or may not be written to: whatever happens there, reads are right or go elsewhere."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pf_fuse.pages.cache import CacheSettings, PageCache
from pf_fuse.pages.folder import AGAIN
from pf_fuse.pages.keys import PAGE, Key
from support.fake_place import content

MIB = 1024 * 1024
DATA = content("disk", 4 * MIB)
Mount = Callable[..., Path]


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True)


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Mount]:
    """Mounts something on a folder of this name, or skips where that is not allowed."""
    mounted: list[Path] = []

    def at(name: str, *how: str) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        done = run("mount", *how, str(folder))
        if done.returncode:
            pytest.skip(f"cannot mount here: {done.stderr.strip()}")
        mounted.append(folder)
        return folder

    yield at
    for folder in mounted:
        run("umount", "--lazy", str(folder))


def key(number: int) -> Key:
    return Key("memory://disk", str(number), "1")


def fill(cache: PageCache, number: int, data: bytes = DATA) -> bool:
    file = cache.open(key(number), len(data))
    kept = file.fill(0, data)
    if cache.tidy() and not kept:
        kept = file.fill(0, data)
    assert file.read(0, len(data)) in (None, data)
    cache.close(file)
    return kept


def is_kept(cache: PageCache, number: int) -> bool:
    file = cache.open(key(number), len(DATA))
    found = file.read(0, len(DATA))
    assert found in (None, DATA)
    cache.close(file)
    return found is not None


def test_a_small_disk_is_never_filled_up(mount: Mount) -> None:
    disk = mount("small", "-t", "tmpfs", "-o", "size=32m", "tmpfs")
    cache = PageCache(CacheSettings([str(disk)]))
    for number in range(30):
        fill(cache, number)
    assert shutil.disk_usage(disk).free >= MIB
    assert is_kept(cache, 29)
    assert not is_kept(cache, 0)
    assert cache.stats().folders[0].trouble == ""
    cache.end()


def test_a_disk_that_others_have_filled_is_used_again_when_there_is_room(mount: Mount) -> None:
    disk = mount("full", "-t", "tmpfs", "-o", "size=32m", "tmpfs")
    cache = PageCache(CacheSettings([str(disk)]))
    assert fill(cache, 0)
    with pytest.raises(OSError, match="No space"):
        (disk / "others").write_bytes(bytes(40 * MIB))
    assert not fill(cache, 1)
    assert cache.stats().folders[0].trouble == ""
    (disk / "others").unlink()
    assert fill(cache, 2)
    assert is_kept(cache, 2)
    cache.end()


@pytest.fixture
def image(mount: Mount, tmp_path: Path) -> tuple[Path, Path]:
    """A disk in a file, and where it is mounted."""
    raw = tmp_path / "image"
    with raw.open("wb") as file:
        file.truncate(64 * MIB)
    if not shutil.which("mkfs.ext4", path=f"{os.environ['PATH']}:/sbin:/usr/sbin"):
        pytest.skip("there is no mkfs.ext4")
    assert run("/sbin/mkfs.ext4", "-q", str(raw)).returncode == 0
    return raw, mount("disk", "-o", "loop", str(raw))


def test_a_disk_that_may_not_be_written_to_is_left_alone(image: tuple[Path, Path]) -> None:
    _, disk = image
    now = 0.0
    cache = PageCache(CacheSettings([str(disk)]), clock=lambda: now)
    assert fill(cache, 0)
    cache.end()
    assert run("mount", "-o", "remount,ro", str(disk)).returncode == 0
    assert not fill(cache, 1)
    assert "Read-only" in cache.stats().folders[0].trouble
    assert run("mount", "-o", "remount,rw", str(disk)).returncode == 0
    now = AGAIN + 1
    assert is_kept(cache, 0)
    assert fill(cache, 1)
    assert cache.stats().folders[0].trouble == ""
    cache.end()


def test_what_cannot_be_read_is_not_there(image: tuple[Path, Path]) -> None:
    raw, disk = image
    cache = PageCache(CacheSettings([str(disk)]))
    file = cache.open(key(0), len(DATA))
    assert file.fill(0, DATA)
    descriptor = file.fix()
    os.fsync(descriptor)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.truncate(raw, 8 * PAGE)
    found = [file.read(at, PAGE) for at in range(0, len(DATA), PAGE)]
    assert None in found
    assert all(part in (None, DATA[at : at + PAGE]) for at, part in zip(range(0, len(DATA), PAGE), found, strict=True))
    assert "Input/output" in cache.stats().folders[0].trouble
    os.truncate(raw, 64 * MIB)
    cache.close(file)
    cache.end()
