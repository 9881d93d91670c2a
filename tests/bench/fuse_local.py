"""A mount beside the local disk that it caches on: what the cache costs, and what a killed client does."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

from bench import fuse_work as work
from bench.fuse_data import BIG, FILES, MIB
from bench.fuse_products import Ours, mounted
from bench.fuse_rows import MB, Values
from support.figures import Figure, percentile
from support.s3_servers import S3Server

KILLS = 20
APART = 3.0
"""Seconds."""
OLD = {"linux": "6.1"}
"""No passthrough: every read asks."""


def beside_local(server: S3Server, folder: Path, local: Values) -> list[Figure]:
    return [*_passed_through(server, _inside(folder, "new"), local), *_asked(server, _inside(folder, "old"), local)]


def datasets(server: S3Server, folder: Path, local: Values) -> list[Figure]:
    """A folder that nobody changes, mounted as such."""
    return [
        *_unchanged(server, _inside(folder, "asked"), local),
        *_written_down(server, _inside(folder, "taken"), local),
    ]


def killed(server: S3Server, folder: Path) -> list[Figure]:
    """R6: programs read on while whoever serves the mount is killed again and again."""
    with mounted(Ours(server, folder)) as product:
        assert isinstance(product, Ours)
        work.read_big(product.place)
        ended = threading.Event()
        waits: list[float] = []
        errors: list[str] = []
        readers = [threading.Thread(target=_read_on, args=(product.place, ended, waits, errors)) for _ in range(2)]
        for reader in readers:
            reader.start()
        for _ in range(KILLS):
            # Whoever dies at once is not started again at once.
            time.sleep(APART)
            product.mount.kill()
        ended.set()
        for reader in readers:
            reader.join()
    longest = percentile(sorted(waits)[-KILLS:], 0.99)
    return [
        Figure(f"R6: errors and wrong bytes over {KILLS} kills", len(errors), "", at_most=0),
        Figure("R6: the longest that a read or a look waited", longest, "s", at_most=1.5),
    ]


def _unchanged(server: S3Server, folder: Path, local: Values) -> list[Figure]:
    with mounted(Ours(server, folder, dataset=True)) as product:
        work.settle_disk(forget=True)
        listed = work.list_tree(product.place)
        first = FILES / work.epoch(product.place, 1)
        again = FILES / min(work.epoch(product.place, seed) for seed in (2, 3))
        stats = work.stat_all(product.place)
        work.list_names(product.place)
        names_ours, names_local = work.list_names(product.place), work.list_names(_stored_in(server))
    ratio = again / local["again"]
    return [
        Figure("dataset: ls -lR of 10,000 files for the first time", listed, "s", local["list"], at_most=0.6),
        Figure("dataset: first epoch", first, "files/s", local["first"], at_least=2000),
        Figure("R4: dataset: second epoch", again, "files/s", local["again"], at_least=50_000),
        Figure("R4: dataset: second epoch, of the local disk's", ratio, "", at_least=0.5),
        Figure("R7: dataset: listing them again, of the local disk's", names_local / names_ours, "", at_least=1.0),
        Figure("dataset: a stat", stats / FILES * 1e6, "us"),
    ]


def _written_down(server: S3Server, folder: Path, local: Values) -> list[Figure]:
    """The same with a snapshot: the store is not asked what there is."""
    product = Ours(server, folder, dataset=True)
    begun = time.perf_counter()
    product.take_snapshot()
    taken = time.perf_counter() - begun
    with mounted(product):
        product.forget()
        listed, again = work.list_tree(product.place), work.list_tree(product.place)
        first = FILES / work.epoch(product.place, 1)
    return [
        Figure("snapshot: ls -lR of 10,000 files for the first time", listed, "s", local["list"], at_most=0.15),
        Figure("snapshot: ls -lR again", again, "s", local["list_again"]),
        Figure("snapshot: first epoch", first, "files/s", local["first"], at_least=2000),
        Figure("snapshot: taking it, of 20,000 files", taken, "s"),
    ]


def _passed_through(server: S3Server, folder: Path, local: Values) -> list[Figure]:
    """R1, and R7: what the kernel does by itself."""
    with mounted(Ours(server, folder, more={"lasts": 300.0})) as product:
        place = product.place
        work.read_big(place)
        product.settle()
        work.read_big(place)
        work.settle_disk()
        before = product.used()
        buffered = BIG / min(work.read_big(place) for _ in range(3)) / MB / local["big_again"]
        mapped = BIG / min(work.read_mapped(place) for _ in range(3)) / MB / local["big_again"]
        one = work.RANDOM_READS / min(work.read_at_random(place, 1) for _ in range(3)) / local["random_1"]
        asked = product.used() - before
        work.settle_disk(forget=True)
        disk = BIG / work.read_big(place) / MB / local["big_disk"]
        work.list_tree(place)
        stat_ours, stat_local = work.stat_all(place), work.stat_all(_stored_in(server))
        work.list_names(place)
        beside = _stored_in(server)
        names_ours, names_local = work.list_names(place), work.list_names(beside)
        work.list_flat(place)
        flat_ours, flat_local = work.list_flat(place), work.list_flat(beside)
    return [
        Figure("R1: cached, 1 GiB from memory, of the local file's", buffered, "", at_least=0.95),
        Figure("R1: cached, 1 GiB from the disk, of the local file's", disk, "", at_least=0.95),
        Figure("R1: cached, random 4 KiB, of the local file's", one, "", at_least=0.9),
        Figure("R1: cached, mapped, of the local file's read", mapped, "", at_least=0.9),
        Figure("R1: processor of the client for all that", asked, "s", at_most=0.05),
        Figure("R7: stat of what the kernel knows, of the local disk's", stat_local / stat_ours, "", at_least=0.85),
        Figure("R7: listing a folder of 10,000 again, of the local disk's", flat_local / flat_ours, "", at_least=1.0),
        Figure("R7: listing 100 folders of 100 again, of the local disk's", names_local / names_ours, "", at_least=1.0),
    ]


def _asked(server: S3Server, folder: Path, local: Values) -> list[Figure]:
    """R2 and R3: as on a kernel that reads nothing by itself."""
    with mounted(Ours(server, folder, more=OLD)) as product:
        place = product.place
        work.read_big(place)
        product.settle()
        work.settle_disk(forget=True)
        before = product.used()
        disk = BIG / work.read_big(place) / MB / local["big_disk"]
        each_gib = product.used() - before
        work.settle_disk(forget=True)
        with (place / "big.bin").open("rb") as held:
            os.posix_fadvise(held.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        before = product.used()
        work.read_at_random(place, 1)
        hit = (product.used() - before) / work.RANDOM_READS
    return [
        Figure("R2: without passthrough, 1 GiB from the disk, of the local file's", disk, "", at_least=0.85),
        Figure("R3: processor of the client for a GiB", each_gib, "s", at_most=0.2),
        Figure("R3: processor of the client for a random read of 4 KiB", hit * 1e6, "us", at_most=11),
    ]


def _read_on(place: Path, ended: threading.Event, waits: list[float], errors: list[str]) -> None:
    """Reads here and there until told to end; notes the longest waits and whatever is wrong."""
    turn = 0
    with (place / "big.bin").open("rb", buffering=0) as big:
        while not ended.is_set():
            turn = (turn + 37) % (BIG // MIB)
            begun = time.monotonic()
            try:
                if os.pread(big.fileno(), 16, turn * MIB) != b"block%011d" % turn:
                    errors.append(f"the block {turn} is another one")
                small = place / f"tree/d{turn % 100:02}/f{turn % 7:02}.bin"
                if small.read_bytes()[:16] != b"small%011d" % (turn % 100 + turn % 7 * 100):
                    errors.append(f"{small} is another one")
            except OSError as error:
                errors.append(str(error))
            waits.append(time.monotonic() - begun)


def _stored_in(server: S3Server) -> Path:
    """Where the store keeps what is mounted, on the local disk."""
    return server.folder / "data/tests/bed"


def _inside(folder: Path, name: str) -> Path:
    made = folder / name
    made.mkdir()
    return made
