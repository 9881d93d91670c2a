"""A mount beside the local disk that it caches on: what the cache costs, and what a killed client does."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from bench import fuse_work as work
from bench.fuse_data import BIG, BIG_PATH, FILES, MIB
from bench.fuse_products import Ours, Product, Shown, mounted, stored_in
from bench.fuse_rows import Values
from support.figures import Figure, percentile
from support.s3_servers import S3Server

KILLS = 20
APART = 3.0
"""Seconds."""
OLD = {"linux": "6.1"}
"""No passthrough: every read asks."""
TURNS = 3
"""A mount and the local disk are measured so often, in turns: what a machine gives changes from minute to minute."""


def beside_local(server: S3Server, folder: Path) -> list[Figure]:
    with mounted(Shown(server, _inside(folder, "shown"))) as shown:
        return [
            *_passed_through(server, _inside(folder, "new")),
            *_again(server, _inside(folder, "usual"), shown.place),
            *_asked(server, _inside(folder, "old"), shown.place),
        ]


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
        product.forget()
        listed = work.list_tree(product.place)
        first = FILES / work.epoch(product.place, 1)
        again = FILES / min(work.epoch(product.place, seed) for seed in (2, 3))
        stats = work.stat_all(product.place)
        work.list_names(product.place)
        names_ours, names_local = work.list_names(product.place), work.list_names(stored_in(server))
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


def _passed_through(server: S3Server, folder: Path) -> list[Figure]:
    """R1, and R7: what the kernel does by itself."""
    with mounted(Ours(server, folder, more={"lasts": 300.0})) as product:
        place, beside = product.place, stored_in(server)
        work.read_big(place)
        product.settle()
        work.read_big(place)
        before = product.used()
        buffered = _beside(work.read_big, place, beside)
        mapped = _beside(work.read_mapped, place, beside)
        one = _beside(lambda where: work.read_at_random(where, 1), place, beside)
        asked = product.used() - before
        disk = _beside(work.read_big, place, beside, forget=True)
        work.list_tree(place)
        stat = _beside(work.stat_all, place, beside)
        names = _beside(work.list_names, place, beside)
        flat = _beside(work.list_flat, place, beside)
    return [
        Figure("R1: cached, 1 GiB from memory, of the local file's", buffered, "", at_least=0.95),
        Figure("R1: cached, 1 GiB from the disk, of the local file's", disk, "", at_least=0.95),
        Figure("R1: cached, random 4 KiB, of the local file's", one, "", at_least=0.9),
        Figure("R1: cached, mapped, of the local file's", mapped, "", at_least=0.9),
        Figure("R1: processor of the client for what comes from memory", asked, "s", at_most=0.05),
        Figure("R7: stat of what the kernel knows, of the local disk's", stat, "", at_least=0.85),
        Figure("R7: listing a folder of 10,000 again, of the local disk's", flat, "", at_least=1.0),
        Figure("R7: listing 100 folders of 100 again, of the local disk's", names, "", at_least=1.0),
    ]


def _again(server: S3Server, folder: Path, shown: Path) -> list[Figure]:
    """R4, of a mount as it is when nothing else is asked for: names are taken for true for a second."""
    with mounted(Ours(server, folder)) as product:
        work.epoch(product.place, 1)
        product.settle()
        ours, local, c = _in_turns(lambda place: work.epoch(place, 2), (product.place, stored_in(server), shown))
    return [
        Figure("R4: the best of three more epochs", FILES / ours, "files/s"),
        Figure("R4: the same, of the local disk's", local / ours, "", at_least=0.1),
        Figure("R4: the same, of passthrough_ll -s", c / ours, "", at_least=1.4),
    ]


def _asked(server: S3Server, folder: Path, shown: Path) -> list[Figure]:
    """R2 and R3: as on a kernel that reads nothing by itself."""
    with mounted(Ours(server, folder, more=OLD)) as product:
        place = product.place
        work.read_big(place)
        product.settle()
        disk = _in_turns(work.read_big, (place, stored_in(server), shown), forget=True)
        many = _in_turns(_read_unkept, (place, shown))
        work.settle_disk(forget=True)
        from_disk = _used(product, work.read_big)
        _forget_kept(place)
        from_memory = _used(product, work.read_big)
        one = _used(product, lambda place: _read_unkept(place, 1))
        four = _used(product, _read_unkept)
    reads = work.RANDOM_READS / 1e6
    return [
        Figure("R2: no passthrough, 1 GiB from the disk, of the local file's", disk[1] / disk[0], "", at_least=0.85),
        Figure("R2: the same, of passthrough_ll -s", disk[2] / disk[0], "", at_least=1.0),
        Figure("R2: random 4 KiB, four at a time, of passthrough_ll -s", many[1] / many[0], "", at_least=0.65),
        Figure("R3: processor of the client for a GiB of its memory", from_memory, "s", at_most=0.2),
        Figure("R3: processor of the client for a GiB of its disk", from_disk, "s", at_most=0.2),
        Figure("R3: processor of the client for 4 KiB, four at a time", four / reads, "us", at_most=11),
        Figure("R3: processor of the client for 4 KiB, one at a time", one / reads, "us", at_most=11),
    ]


def _used(product: Product, do: Callable[[Path], float]) -> float:
    """Seconds of processors that something takes of the client."""
    before = product.used()
    do(product.place)
    return product.used() - before


def _read_unkept(place: Path, readers: int = 4) -> float:
    """Random pages of the big file, each of which is asked for."""
    _forget_kept(place)
    return work.read_at_random(place, readers)


def _forget_kept(place: Path) -> None:
    """The kernel keeps nothing of the big file for the mount."""
    with (place / BIG_PATH).open("rb") as held:
        os.posix_fadvise(held.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _beside(do: Callable[[Path], float], place: Path, beside: Path, *, forget: bool = False) -> float:
    """How fast it is in a mount, of how fast it is on the local disk."""
    ours, local = _in_turns(do, (place, beside), forget=forget)
    return local / ours


def _in_turns(do: Callable[[Path], float], places: Sequence[Path], *, forget: bool = False) -> Sequence[float]:
    """Seconds in each of these places, the best of some turns."""
    turns = [[_settled(do, place, forget=forget) for place in places] for _ in range(TURNS)]
    return [min(took) for took in zip(*turns, strict=True)]


def _settled(do: Callable[[Path], float], place: Path, *, forget: bool) -> float:
    work.settle_disk(forget=forget)
    return do(place)


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


def _inside(folder: Path, name: str) -> Path:
    made = folder / name
    made.mkdir()
    return made
