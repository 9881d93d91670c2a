"""What is measured of one mount, or of a folder of the local disk beside it."""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep

from bench import fuse_work as work
from bench.fuse_data import BIG, FILES, SMALL
from bench.fuse_products import FOLDER, Product
from pf_backends.entries import Entry
from pf_backends.opening import open_backend
from pf_backends.port import Backend
from support.s3_servers import BUCKET, S3Server

MB = 1e6
GIB = 1 << 30
STORED = 300.0
"""Seconds until what was written has to be in the store."""
Values = dict[str, float]


@dataclass(frozen=True)
class Row:
    """One figure of each product."""

    key: str
    what: str
    unit: str
    less: bool = False
    """The smaller is the better one."""
    times: float = 1.0
    """By so much the best of the others is to be beaten."""
    floor: float = 0.0
    """At least so much, whatever the others do."""


ROWS = (
    Row("first", "first epoch of 10,000 x 100 KiB", "files/s", times=2, floor=2000),
    Row("again", "second epoch", "files/s", times=2),
    Row("disk", "another one, with nothing in memory", "files/s", times=2),
    Row("remounted", "an epoch after mounting again", "files/s", times=2),
    Row("big", "1 GiB read for the first time", "MB/s"),
    Row("big_again", "1 GiB read again", "MB/s"),
    Row("big_disk", "1 GiB read again, with nothing in memory", "MB/s"),
    Row("random_1", "random 4 KiB of what is cached, one at a time", "1/s"),
    Row("random_16", "random 4 KiB of what is cached, 16 at a time", "1/s"),
    Row("list", "ls -lR of 10,000 files for the first time", "s", less=True),
    Row("list_again", "ls -lR again", "s", less=True),
    Row("written", "writing 1,000 x 100 KiB, 8 at once, until it is stored", "files/s"),
    Row("written_big", "writing 1 GiB until it is stored", "MB/s"),
    Row("cpu_first", "processor for 10,000 files, first epoch", "s", less=True),
    Row("cpu_again", "processor for 10,000 files, second epoch", "s", less=True),
    Row("cpu_big", "processor for 1 GiB, first read", "s", less=True),
    Row("cpu_big_disk", "processor for 1 GiB, cached, with nothing in memory", "s", less=True),
    Row("memory", "memory after all this", "MiB", less=True),
)


def measure(product: Product) -> Values:
    """All rows of a product, which is mounted; what it has in its cache is thrown away first."""
    values: Values = {}
    product.anew()
    product.forget()
    values["first"], values["cpu_first"] = _rate(product, lambda: work.epoch(product.place, 1), FILES)
    product.settle()
    work.settle_disk()
    values["again"], values["cpu_again"] = _rate(product, lambda: work.epoch(product.place, 2), FILES)
    work.settle_disk(forget=True)
    values["disk"], _ = _rate(product, lambda: work.epoch(product.place, 3), FILES)
    product.settle()
    product.end()
    product.begin()
    work.settle_disk(forget=True)
    values["remounted"], _ = _rate(product, lambda: work.epoch(product.place, 4), FILES)
    values |= _big(product) | _listed(product) | _written(product)
    values["memory"] = product.memory()
    return values


def measure_local(place: Path) -> Values:
    """The rows that a folder of the local disk can have."""
    values: Values = {}
    for key, forget in (("first", True), ("again", False), ("disk", True)):
        work.settle_disk(forget=forget)
        values[key] = FILES / work.epoch(place, 1)
    for key, forget in (("big", True), ("big_again", False), ("big_disk", True)):
        work.settle_disk(forget=forget)
        values[key] = BIG / work.read_big(place) / MB
    work.read_big(place)
    values |= _at_random(place)
    work.settle_disk(forget=True)
    values["list"], values["list_again"] = work.list_tree(place), work.list_tree(place)
    folder = place / "written"
    folder.mkdir()
    values["written"] = work.WRITTEN / work.write_small(folder / "small", work.READERS)
    values["written_big"] = BIG / work.write_big(folder / "big.bin") / MB
    return values


def _big(product: Product) -> Values:
    values: Values = {}
    product.anew()
    product.forget()
    values["big"], values["cpu_big"] = _rate(product, lambda: work.read_big(product.place), BIG / MB)
    product.settle()
    work.settle_disk()
    values["big_again"], _ = _rate(product, lambda: work.read_big(product.place), BIG / MB)
    work.settle_disk(forget=True)
    values["big_disk"], values["cpu_big_disk"] = _rate(product, lambda: work.read_big(product.place), BIG / MB)
    return values | _at_random(product.place)


def _at_random(place: Path) -> Values:
    """The middle of three: each is over in less than a second, in which anything else on the machine counts."""
    took = {count: [work.read_at_random(place, count) for _ in range(3)] for count in (1, 16)}
    return {f"random_{count}": work.RANDOM_READS / statistics.median(each) for count, each in took.items()}


def _listed(product: Product) -> Values:
    product.anew()
    product.forget()
    return {"list": work.list_tree(product.place), "list_again": work.list_tree(product.place)}


def _written(product: Product) -> Values:
    name = f"written-{product.title}-{os.getpid()}-{monotonic():.0f}"
    folder = product.place / name
    folder.mkdir()
    begun = monotonic()
    work.write_small(folder / "small", work.READERS)
    if product.plain:
        _stored(product.server, f"{name}/small", work.WRITTEN, SMALL)
    small = work.WRITTEN / (monotonic() - begun)
    product.settle()
    begun = monotonic()
    work.write_big(folder / "big.bin")
    if product.plain:
        _stored(product.server, name, 1, BIG)
    return {"written": small, "written_big": BIG / (monotonic() - begun) / MB}


def _rate(product: Product, do: Callable[[], float], count: float) -> tuple[float, float]:
    """How much in a second, and seconds of processors for all of it."""
    before = product.used()
    rate = count / do()
    return rate, product.used() - before


def _stored(server: S3Server, folder: str, count: int, size: int) -> None:
    """Waits until so many files of a size are in a folder of the store."""
    backend = open_backend(f"s3://{BUCKET}/{FOLDER}", server.properties)
    until = monotonic() + STORED
    while sum(entry.size == size for entry in _entries(backend, folder)) < count:
        assert monotonic() < until, f"{folder}: not stored after {STORED} s"
        sleep(0.1)
    backend.close()


def _entries(backend: Backend, folder: str) -> Iterator[Entry]:
    rest = ""
    while True:
        page = backend.list(folder, rest=rest)
        yield from page.entries
        rest = page.rest
        if not rest:
            return
