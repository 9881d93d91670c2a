"""How fast a mounted filesystem is, beside the local disk and other products on the same bucket: `make bench-fuse`.

All of them mount one bucket of versitygw, which serves a folder of the local disk over loopback. BENCH_ROUNDS says how
often everything is measured; of several measurements the middle one counts.
"""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from bench import fuse_data, fuse_raw, fuse_work
from bench.fuse_local import beside_local, datasets, killed
from bench.fuse_products import FOLDER, JuiceFs, Ours, Peer, Product, Rclone, S3Fs, mounted
from bench.fuse_rows import MB, ROWS, Row, Values, measure, measure_local
from bench.report import Parts, run
from pf_backends.opening import open_backend
from support.figures import Figure
from support.s3_servers import BUCKET, S3Server, versity

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "1"))
PART = 16 * fuse_data.MIB
PEERS: Sequence[type[Peer]] = (JuiceFs, Rclone, S3Fs)


def disk() -> Path:
    """That of the user's home, or of BENCH_DISK. Temporary folders may be in memory."""
    return Path(os.environ.get("BENCH_DISK", Path.home()))


@cache
def store() -> S3Server:
    """A store with the data, on the disk that is measured; stopped at the end of the bench."""
    server = versity("--keep-alive", within=disk())
    backend = open_backend(f"s3://{BUCKET}/{FOLDER}", server.properties)
    fuse_data.put(backend.put)
    upload = backend.begin(fuse_data.BIG_PATH)
    many = fuse_data.BIG // PART
    each = PART // fuse_data.MIB
    bodies = (b"".join(map(fuse_data.block, range(number * each, (number + 1) * each))) for number in range(many))
    backend.finish(upload, [backend.send(upload, number, body) for number, body in enumerate(bodies, 1)])
    backend.close()
    return server


@contextmanager
def room() -> Iterator[Path]:
    """A folder on the disk that is measured."""
    folder = tempfile.mkdtemp(prefix="bench-fuse-", dir=disk())
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder)


@cache
def local() -> Values:
    with room() as folder:
        fuse_data.fill(folder)
        return _middle([measure_local(_emptied(folder)) for _ in range(ROUNDS)])


@cache
def ours() -> Values:
    return _of(Ours)


@cache
def peers() -> Mapping[str, Values]:
    return {kind.title: _of(kind) for kind in PEERS}


def comparison() -> list[Figure]:
    """Each row: this project's figure beside the best of the others, then each of theirs and the local disk's."""
    found = [figure for row in ROWS for figure in _figures(row)]
    server = store()
    raw = fuse_raw.big(server, FOLDER) / MB, fuse_raw.small(server, FOLDER)
    big, first = ours()["big"] / raw[0], ours()["first"] / raw[1]
    return [
        *found,
        Figure("R5: first read of 1 GiB, of what the store gives at all", big, "", at_least=0.5),
        Figure("R8: first epoch, of the files that the store gives at all", first, "", at_least=0.3),
        Figure("what the store gives of 1 GiB, over 4 connections", raw[0], "MB/s"),
        Figure("what the store gives of small files, over 16 connections", raw[1], "files/s"),
    ]


def with_longer_times() -> list[Figure]:
    """As others are shipped: names are taken for true for minutes, here for one."""
    with room() as folder, mounted(Ours(store(), folder, more={"lasts": 60.0})) as product:
        product.forget()
        first = fuse_data.FILES / fuse_work.epoch(product.place, 1)
        fuse_work.settle_disk()
        again = fuse_data.FILES / fuse_work.epoch(product.place, 2)
    best = {key: max(values[key] for values in peers().values()) for key in ("first", "again")}
    return [
        Figure("first epoch with -o attr-timeout=60", first, "files/s", best["first"], at_least=2 * best["first"]),
        Figure("second epoch with -o attr-timeout=60", again, "files/s", best["again"], at_least=2 * best["again"]),
    ]


def of_the_local_disk() -> list[Figure]:
    with room() as folder:
        return beside_local(store(), folder)


def read_only_datasets() -> list[Figure]:
    with room() as folder:
        return datasets(store(), folder, local())


def kills() -> list[Figure]:
    with room() as folder:
        return killed(store(), folder)


PARTS: Parts = {
    "peers": comparison,
    "longer": with_longer_times,
    "local": of_the_local_disk,
    "dataset": read_only_datasets,
    "kills": kills,
}


def _of(kind: type[Product]) -> Values:
    """The rows of a product: the middle of several rounds."""
    with room() as folder:
        product = kind(store(), folder)
        if isinstance(product, JuiceFs):
            product.prepare()
        try:
            with mounted(product):
                return _middle([measure(product) for _ in range(ROUNDS)])
        finally:
            if isinstance(product, JuiceFs):
                product.valkey.remove()
            sys.stderr.write(f"{product.title}: measured\n")


def _figures(row: Row) -> list[Figure]:
    theirs = {title: values[row.key] for title, values in peers().items() if row.key in values}
    best = min(theirs.values()) if row.less else max(theirs.values())
    value = ours()[row.key]
    target = {"at_most": best} if row.less else {"at_least": max(row.floor, row.times * best)}
    beside = theirs | ({"the local disk": local()[row.key]} if row.key in local() else {})
    return [
        Figure(row.what, value, row.unit, best, **target),
        *(Figure(f"  {title}", number, row.unit) for title, number in beside.items()),
    ]


def _middle(rounds: Sequence[Values]) -> Values:
    return {key: statistics.median(values[key] for values in rounds) for key in rounds[0]}


def _emptied(folder: Path) -> Path:
    shutil.rmtree(folder / "written", ignore_errors=True)
    return folder


if __name__ == "__main__":
    try:
        sys.exit(run("fuse", "a mounted filesystem, on this machine", PARTS, sys.argv[1:]))
    finally:
        if store.cache_info().currsize:
            store().stop()
