"""Fills a page cache from several threads until it is killed: `python -m support.pages_filler <folder>`."""

from __future__ import annotations

import random
import sys
import threading

from pf_fuse.pages.cache import CacheSettings, PageCache
from pf_fuse.pages.keys import PAGE, Key
from support.fake_place import content

FILES = 24
THREADS = 3


def key(number: int) -> Key:
    return Key("memory://filled", str(number), "1")


def data(number: int) -> bytes:
    """Some are one page, some a few, some large enough for requests that go past the kernel's cache."""
    sizes = (1, 5000, PAGE, 3 * PAGE + 17, 20 * PAGE, 40 * PAGE + 1)
    return content(number, sizes[number % len(sizes)])


def fill(cache: PageCache, chance: random.Random) -> None:
    while True:
        number = chance.randrange(FILES)
        whole = data(number)
        file = cache.open(key(number), len(whole))
        for _ in range(chance.randrange(1, 6)):
            start = chance.randrange(0, len(whole), PAGE)
            end = min(len(whole), start + PAGE * chance.choice((1, 2, 16)))
            file.fill(start, whole[start:end])
        cache.tidy()
        cache.close(file)
        if chance.random() < 0.05:
            cache.drop(key(number))


def main(folder: str) -> None:
    cache = PageCache(CacheSettings([folder]))
    threads = [threading.Thread(target=fill, args=(cache, random.Random())) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    sys.stdout.write("filling\n")
    sys.stdout.flush()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main(sys.argv[1])
