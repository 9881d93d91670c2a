"""Cached files that somebody uses while they are damaged, or while the clock is set."""

from __future__ import annotations

import os
from pathlib import Path

from pf_fuse.pages.cache import CacheSettings, PageCache
from pf_fuse.pages.keys import PAGE, Key
from support.fake_place import content

SIZE = 3 * PAGE + 1000
KEY = Key("s3://bucket", "folder/name", "v1")
DATA = content("name", SIZE)


def test_a_file_that_was_cut_off_under_its_reader_is_handed_out_to_nobody_else(tmp_path: Path) -> None:
    cache = PageCache(CacheSettings([str(tmp_path)]))
    file = cache.open(KEY, SIZE)
    assert file.fill(0, DATA)
    os.truncate(f"/proc/self/fd/{file.fix()}", PAGE)
    assert file.read(2 * PAGE, 10) is None
    assert file.fix() == -1
    assert not file.fill(0, DATA), "somebody may read it without asking: it is not written to under him"
    cache.close(file)
    file = cache.open(KEY, SIZE)
    assert file.fill(0, DATA)
    assert os.pread(file.fix(), SIZE, 0) == DATA
    cache.close(file)
    cache.end()


def test_use_is_noted_also_after_the_clock_was_set_back(tmp_path: Path) -> None:
    now = 2_000_000_000 * 10**9
    cache = PageCache(CacheSettings([str(tmp_path)]), now=lambda: now)
    file = cache.open(KEY, SIZE)
    assert file.fill(0, DATA)
    cache.close(file)
    now -= 86_400 * 10**9
    cache.close(cache.open(KEY, SIZE))
    (path,) = (path for path in tmp_path.glob("pages.1/??/*") if path.suffix != ".sheet")
    assert path.stat().st_atime_ns == now
    cache.end()
