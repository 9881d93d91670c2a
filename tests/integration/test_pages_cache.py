"""The page cache on real folders."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pf_fuse.pages.cache import CacheSettings, PageCache
from pf_fuse.pages.keys import PAGE, Extent, Key
from support.fake_place import content

SIZE = 3 * PAGE + 1000
KEY = Key("s3://bucket", "folder/name", "v1")
DATA = content("name", SIZE)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def cache(folder: Path) -> Iterator[PageCache]:
    made = PageCache(CacheSettings([str(folder)]))
    yield made
    made.end()


def stored(folder: Path) -> list[Path]:
    """The files in the cache, without what is beside them."""
    return [path for path in folder.glob("pages.1/??/*") if path.suffix != ".sheet"]


def filled(cache: PageCache, key: Key, data: bytes) -> None:
    file = cache.open(key, len(data))
    assert file.fill(0, data)
    cache.tidy()
    cache.close(file)


def again(folder: Path, **settings: int) -> PageCache:
    """What a process finds that begins later."""
    return PageCache(CacheSettings([str(folder)], **settings))


def test_pages_are_read_as_they_were_filled(cache: PageCache) -> None:
    file = cache.open(KEY, SIZE)
    assert file.missing(0, SIZE) == [Extent(0, SIZE)]
    assert file.read(0, 1) is None
    assert file.fill(PAGE, DATA[PAGE : 2 * PAGE])
    assert file.missing(0, SIZE) == [Extent(0, PAGE), Extent(2 * PAGE, SIZE)]
    assert file.read(PAGE + 5, 100) == DATA[PAGE + 5 : PAGE + 105]
    assert file.read(PAGE + 5, PAGE) is None
    assert file.fix() == -1
    assert file.fill(0, DATA)
    assert file.complete
    assert file.read(0, 2 * SIZE) == DATA
    assert file.read(SIZE, 10) == b""
    assert os.pread(file.fix(), 2 * SIZE, 0) == DATA
    cache.close(file)


def test_a_file_without_bytes_is_complete(cache: PageCache, folder: Path) -> None:
    file = cache.open(KEY, 0)
    assert file.complete
    assert file.read(0, 10) == b""
    assert file.fix() == -1
    cache.close(file)
    assert stored(folder) == []


def test_parts_of_pages_are_refused(cache: PageCache) -> None:
    file = cache.open(KEY, SIZE)
    with pytest.raises(ValueError, match="not whole pages"):
        file.fill(1, DATA[1:])
    with pytest.raises(ValueError, match="not whole pages"):
        file.fill(0, DATA[: PAGE + 1])
    cache.close(file)


def test_what_was_filled_is_found_later(cache: PageCache, folder: Path) -> None:
    filled(cache, KEY, DATA)
    cache.end()
    later = again(folder)
    file = later.open(KEY, SIZE)
    assert file.complete
    assert not file.checked
    assert file.fix() == -1
    assert file.verify()
    assert os.pread(file.fix(), SIZE, 0) == DATA
    later.close(file)
    later.end()


def test_a_file_that_is_half_full_is_filled_later(cache: PageCache, folder: Path) -> None:
    file = cache.open(KEY, SIZE)
    assert file.fill(0, DATA[:PAGE])
    cache.close(file)
    later = again(folder)
    file = later.open(KEY, SIZE)
    assert file.missing(0, SIZE) == [Extent(PAGE, SIZE)]
    assert file.read(0, PAGE) == DATA[:PAGE]
    assert file.fill(PAGE, DATA[PAGE:])
    assert file.checked
    later.close(file)
    later.end()


def test_another_version_is_another_file(cache: PageCache) -> None:
    filled(cache, KEY, DATA)
    file = cache.open(KEY._replace(version="v2"), SIZE)
    assert not file.complete
    cache.close(file)


def test_a_large_file_has_its_sheet_beside_it(cache: PageCache, folder: Path) -> None:
    size = 100 * 1024 * 1024
    file = cache.open(KEY, size)
    assert file.fill(99 * 8 * PAGE, DATA[:PAGE])
    cache.close(file)
    assert len(list(folder.glob("pages.1/??/*.sheet"))) == 1
    later = again(folder)
    file = later.open(KEY, size)
    assert file.missing(0, size) == [Extent(0, 99 * 8 * PAGE), Extent(99 * 8 * PAGE + PAGE, size)]
    assert file.read(99 * 8 * PAGE + 3, 50) == DATA[3:53]
    later.close(file)
    later.drop(KEY)
    assert list(folder.glob("pages.1/??/*")) == []


@pytest.mark.parametrize("at", [0, PAGE, SIZE - 1])
def test_a_bit_that_flipped_is_found_and_mended(cache: PageCache, folder: Path, at: int) -> None:
    filled(cache, KEY, DATA)
    cache.end()
    with stored(folder)[0].open("r+b") as raw:
        raw.seek(at)
        raw.write(bytes([DATA[at] ^ 4]))
    later = again(folder)
    file = later.open(KEY, SIZE)
    assert file.complete
    assert not file.verify()
    assert file.read(at, 1) is None
    page = at - at % PAGE
    assert file.missing(0, SIZE) == [Extent(page, min(page + PAGE, SIZE))]
    assert file.fill(page, DATA[page : page + PAGE])
    assert file.verify()
    assert os.pread(file.fix(), SIZE, 0) == DATA
    later.close(file)
    later.end()


def test_a_file_that_was_cut_off_is_begun_anew(cache: PageCache, folder: Path) -> None:
    filled(cache, KEY, DATA)
    cache.end()
    os.truncate(stored(folder)[0], PAGE)
    later = again(folder)
    file = later.open(KEY, SIZE)
    assert file.read(0, 10) is None
    assert file.fill(0, DATA)
    assert file.read(0, SIZE) == DATA
    later.close(file)
    later.end()


def test_a_file_of_which_nothing_is_known_is_begun_anew(cache: PageCache, folder: Path) -> None:
    filled(cache, KEY, DATA)
    cache.end()
    path = stored(folder)[0]
    path.unlink()
    path.write_bytes(b"?" * SIZE)
    later = again(folder)
    file = later.open(KEY, SIZE)
    assert file.read(0, 10) is None
    assert file.fill(0, DATA)
    assert file.read(0, SIZE) == DATA
    later.close(file)
    later.end()


def test_a_file_that_shrinks_while_it_is_open_gives_nothing_wrong(cache: PageCache, folder: Path) -> None:
    file = cache.open(KEY, SIZE)
    assert file.fill(0, DATA)
    os.truncate(stored(folder)[0], PAGE)
    assert file.read(0, SIZE) is None
    assert file.read(0, PAGE) in (None, DATA[:PAGE])
    cache.close(file)


def test_two_processes_share_whole_files_and_only_one_fills(cache: PageCache, folder: Path) -> None:
    other = again(folder)
    file = cache.open(KEY, SIZE)
    assert file.fill(0, DATA[:PAGE])
    elsewhere = other.open(KEY, SIZE)
    assert elsewhere.read(0, 10) is None
    assert not elsewhere.fill(0, DATA)
    assert file.fill(PAGE, DATA[PAGE:])
    assert elsewhere.fill(0, DATA)
    assert elsewhere.read(0, SIZE) == DATA
    other.close(elsewhere)
    cache.close(file)
    other.end()


def test_a_dropped_file_stays_for_who_has_it_open(cache: PageCache, folder: Path) -> None:
    file = cache.open(KEY, SIZE)
    assert file.fill(0, DATA)
    cache.drop(KEY)
    assert stored(folder) == []
    assert file.read(0, SIZE) == DATA
    new = cache.open(KEY, SIZE)
    assert not new.complete
    cache.close(file)
    cache.close(new)


def test_the_oldest_files_go_and_open_ones_stay(folder: Path) -> None:
    cache = again(folder, bytes=100 * PAGE)
    pinned = cache.open(KEY, PAGE)
    assert pinned.fill(0, DATA[:PAGE])
    for each in range(130):
        filled(cache, KEY._replace(path=str(each)), DATA[:PAGE])
        used_ago = time.time_ns() - 10**12 + each
        os.utime(stored_file(folder, KEY._replace(path=str(each))), ns=(used_ago, 0))
    cache.look()
    stats = cache.stats().folders[0]
    assert stats.bytes <= 100 * PAGE
    assert stats.files >= 85
    assert pinned.read(0, PAGE) == DATA[:PAGE]
    there = [each for each in range(130) if stored_file(folder, KEY._replace(path=str(each))).exists()]
    assert there == list(range(131 - stats.files, 130))
    cache.close(pinned)
    cache.end()


def test_what_was_opened_again_stays(folder: Path) -> None:
    cache = again(folder, files=10)
    for each in range(9):
        filled(cache, KEY._replace(path=str(each)), b"x")
        used_ago = time.time_ns() - 10**12 + each
        os.utime(stored_file(folder, KEY._replace(path=str(each))), ns=(used_ago, 0))
    cache.end()
    later = again(folder, files=10)
    later.close(later.open(KEY._replace(path="0"), 1))
    later.look()
    filled(later, KEY, b"x")
    assert stored_file(folder, KEY._replace(path="0")).exists()
    assert not stored_file(folder, KEY._replace(path="1")).exists()
    later.end()


def stored_file(folder: Path, key: Key) -> Path:
    return folder / "pages.1" / key.name[:2] / key.name


def test_no_more_files_than_allowed(folder: Path) -> None:
    cache = again(folder, files=50)
    for each in range(120):
        filled(cache, KEY._replace(path=str(each)), b"x")
    cache.look()
    assert cache.stats().folders[0].files <= 50
    cache.end()


def test_a_file_larger_than_the_cache_is_kept_as_far_as_it_goes(folder: Path) -> None:
    cache = again(folder, bytes=2 * PAGE)
    file = cache.open(KEY, SIZE)
    kept = [file.fill(at, DATA[at : at + PAGE]) for at in range(0, SIZE, PAGE)]
    assert kept[0]
    assert not kept[-1]
    assert file.read(0, 10) == DATA[:10]
    assert file.read(SIZE - 10, 10) is None
    cache.close(file)
    cache.end()


def test_nobody_else_may_read_it_and_names_tell_nothing(cache: PageCache, folder: Path) -> None:
    filled(cache, KEY, DATA)
    inside = folder / "pages.1"
    assert inside.stat().st_mode & 0o777 == 0o700
    for path in inside.rglob("*"):
        assert path.stat().st_mode & 0o077 == 0
        assert "name" not in path.name


def test_a_folder_that_others_can_write_to_is_not_used(folder: Path) -> None:
    (folder / "pages.1").mkdir(parents=True, mode=0o777)
    (folder / "pages.1").chmod(0o777)
    cache = again(folder)
    file = cache.open(KEY, SIZE)
    assert not file.fill(0, DATA)
    assert "0700" in cache.stats().folders[0].trouble
    cache.close(file)


def test_a_link_in_the_place_of_a_file_is_not_followed(cache: PageCache, folder: Path, tmp_path: Path) -> None:
    filled(cache, KEY, DATA)
    cache.drop(KEY)
    victim = tmp_path / "victim"
    victim.write_bytes(b"mine")
    stored_file(folder, KEY).symlink_to(victim)
    file = cache.open(KEY, SIZE)
    file.fill(0, DATA)
    assert victim.read_bytes() == b"mine"
    cache.close(file)


def test_a_folder_that_is_gone_costs_nobody_a_read(tmp_path: Path) -> None:
    (tmp_path / "here").write_bytes(b"")
    cache = PageCache(CacheSettings([str(tmp_path / "here"), str(tmp_path / "there")]))
    for each in range(10):
        key = KEY._replace(path=str(each))
        filled(cache, key, DATA)
        file = cache.open(key, SIZE)
        assert file.read(0, SIZE) == DATA
        cache.close(file)
    broken, sound = cache.stats().folders
    assert broken.trouble
    assert not sound.trouble
    cache.end()


def test_files_are_spread_over_folders_and_found_there(tmp_path: Path) -> None:
    folders = [str(tmp_path / "one"), str(tmp_path / "two")]
    cache = PageCache(CacheSettings(folders))
    for each in range(40):
        filled(cache, KEY._replace(path=str(each)), DATA)
    cache.end()
    later = PageCache(CacheSettings(folders))
    for each in range(40):
        file = later.open(KEY._replace(path=str(each)), SIZE)
        assert file.read(0, SIZE) == DATA
        later.close(file)
    later.look()
    assert all(folder.files > 5 for folder in later.stats().folders)
    later.end()


def test_many_threads_fill_an_empty_cache_at_once(cache: PageCache, folder: Path) -> None:
    def work(number: int) -> None:
        for each in range(100):
            filled(cache, KEY._replace(path=f"{number} {each}"), DATA[:1000])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert cache.stats().folders[0].trouble == ""
    assert len(stored(folder)) == 800


def test_a_check_tells_what_there_is_and_removes_what_is_wrong(cache: PageCache, folder: Path) -> None:
    for each in range(5):
        filled(cache, KEY._replace(path=str(each)), DATA)
    half = cache.open(KEY, SIZE)
    assert half.fill(0, DATA[:PAGE])
    report = cache.check()
    assert (report.files, report.bytes, report.busy, report.removed) == (5, 5 * SIZE, 1, 0)
    cache.close(half)
    cache.end()
    with stored_file(folder, KEY._replace(path="3")).open("r+b") as raw:
        raw.write(b"wrong")
    report = cache.check()
    assert (report.files, report.partial, report.removed) == (5, 1, 1)
    assert not stored_file(folder, KEY._replace(path="3")).exists()


def test_all_that_nobody_has_open_is_cleared(cache: PageCache, folder: Path) -> None:
    for each in range(5):
        filled(cache, KEY._replace(path=str(each)), DATA)
    file = cache.open(KEY, SIZE)
    assert file.fill(0, DATA)
    cache.clear()
    assert [path.name for path in stored(folder)] == [KEY.name]
    cache.close(file)


def descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def test_no_descriptor_is_left_open(folder: Path) -> None:
    before = descriptors()
    cache = again(folder, descriptors=3)
    for each in range(10):
        filled(cache, KEY._replace(path=str(each)), DATA)
    assert descriptors() == before + 3
    cache.end()
    assert descriptors() == before
