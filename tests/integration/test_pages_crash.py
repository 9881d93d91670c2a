"""A process that is killed while it fills the page cache leaves no wrong byte, and what it had filled is there."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pf_fuse.pages.cache import CacheSettings, PageCache
from pf_fuse.pages.keys import PAGE
from support.pages_filler import FILES, data, key

TESTS = Path(__file__).parents[1]


def kill_while_filling(folder: Path, seconds: float) -> None:
    filler = subprocess.Popen(
        [sys.executable, "-m", "support.pages_filler", str(folder)],
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        stdout=subprocess.PIPE,
    )
    with filler:
        assert filler.stdout
        filler.stdout.readline()
        # How far it has come is what differs from kill to kill.
        time.sleep(seconds)
        filler.kill()


def pages_there(cache: PageCache) -> int:
    """How many pages are there, all of them as they were filled."""
    there = 0
    for number in range(FILES):
        whole = data(number)
        file = cache.open(key(number), len(whole))
        missing = file.missing(0, len(whole))
        for start in range(0, len(whole), PAGE):
            found = file.read(start, PAGE)
            assert found in (None, whole[start : start + PAGE])
            assert (found is None) == any(gap.start <= start < gap.end for gap in missing)
            there += found is not None
        assert not file.bad
        cache.close(file)
    return there


@pytest.mark.parametrize("kills", [6])
def test_no_wrong_byte_is_left_by_a_process_that_was_killed(tmp_path: Path, kills: int) -> None:
    chance = random.Random(7)
    there = []
    for _ in range(kills):
        kill_while_filling(tmp_path, chance.uniform(0.02, 0.3))
        cache = PageCache(CacheSettings([str(tmp_path)]))
        there.append(pages_there(cache))
        report = cache.check()
        assert report.busy == 0
        cache.end()
    assert max(there) > 50
