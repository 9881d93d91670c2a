"""What the kernel has in memory of cached files."""

from __future__ import annotations

import ctypes
import mmap
import os
from pathlib import Path

from pf_fuse.pages.cache import CacheSettings, PageCache
from pf_fuse.pages.keys import Key
from support.stacks import wait_until


def test_a_large_file_that_was_written_past_the_kernels_memory_is_read_into_it(tmp_path: Path) -> None:
    size = 32 << 20
    cache = PageCache(CacheSettings([str(tmp_path / "cache")]))
    file = cache.open(Key("s3://a", "large", "1"), size)
    # A disk wants memory that begins where a page begins.
    with mmap.mmap(-1, size) as body:
        body.write(os.urandom(size))
        with memoryview(body) as view:
            for start in range(0, size, 4 << 20):
                with view[start : start + (4 << 20)] as part:
                    file.fill(start, part)
        file.recall()
        wait_until(lambda: in_memory(file.fd, size) == size)
    cache.close(file)
    cache.end()


def in_memory(descriptor: int, size: int) -> int:
    """How many of a file's bytes the kernel has; to look for them by reading would make it fetch some."""
    pages = (ctypes.c_ubyte * (size // mmap.PAGESIZE))()
    with mmap.mmap(descriptor, size, mmap.MAP_PRIVATE) as view:
        first = ctypes.c_ubyte.from_buffer(view)
        libc = ctypes.CDLL(None, use_errno=True)
        assert libc.mincore(ctypes.byref(first), ctypes.c_size_t(size), pages) == 0
        del first
    return sum(page & 1 for page in pages) * mmap.PAGESIZE
