"""Reads files through fsspec, as programs do that train and analyse; runs beside any implementation of it."""

from __future__ import annotations

import json
import random
import resource
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import fsspec
import pandas as pd

PIECE = 4 << 20
RANDOM = 100
"""Reads of 4 KiB."""


def main() -> None:
    """Told what by JSON on the standard input; tells seconds, processor seconds and how much of what."""
    given = json.load(sys.stdin)
    fs = fsspec.filesystem(given["protocol"], **given["options"])
    base = given["base"]
    # Connections, logins and imports are not what is compared.
    names = sorted(fs.ls(f"{base}/loop", detail=False))
    told = {
        "large": measured(lambda: large(fs, f"{base}/large")),
        "random": measured(lambda: in_no_order(fs, f"{base}/other")),
        "loop": measured(lambda: loop(fs, names)),
        "cat": measured(lambda: together(fs, f"{base}/cat")),
        "parquet": measured(lambda: table(fs, f"{base}/table.parquet")),
    }
    json.dump(told, sys.stdout)


def measured(work: Callable[[], int]) -> Mapping[str, float]:
    before, begun = used(), time.perf_counter()
    done = work()
    return {"seconds": time.perf_counter() - begun, "processor": used() - before, "done": done}


def used() -> float:
    now = resource.getrusage(resource.RUSAGE_SELF)
    return now.ru_utime + now.ru_stime


def large(fs: Any, path: str) -> int:
    """Bytes, from the beginning to the end."""
    done = 0
    with fs.open(path, "rb") as file:
        while piece := file.read(PIECE):
            done += len(piece)
    return done


def in_no_order(fs: Any, path: str) -> int:
    chance = random.Random(3)
    with fs.open(path, "rb") as file:
        pages = file.seek(0, 2) // 4096
        for _ in range(RANDOM):
            file.seek(chance.randrange(pages) * 4096)
            file.read(4096)
    return RANDOM


def loop(fs: Any, names: list[str]) -> int:
    """File by file in no order, as a worker of a loader does."""
    random.Random(4).shuffle(names)
    return sum(len(fs.cat_file(name)) > 0 for name in names)


def together(fs: Any, folder: str) -> int:
    return len(fs.cat(sorted(fs.ls(folder, detail=False))))


def table(fs: Any, path: str) -> int:
    with fs.open(path, "rb") as file:
        return len(pd.read_parquet(file, columns=["c1", "c5", "c9"]))


if __name__ == "__main__":
    main()
