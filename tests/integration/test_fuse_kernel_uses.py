"""What a filesystem may ask of the kernel: to read files by itself, to forget, to write down what is asked."""

from __future__ import annotations

import os
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fixtures_fuse import MirrorMounts
from pf_fuse.operations import Reach
from support.waiting import until

MIB = 1 << 20


def read(path: Path) -> bytes:
    """Without asking for attributes: a read makes the kernel ask for them anew."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return os.read(descriptor, MIB)
    finally:
        os.close(descriptor)


def test_a_registered_file_is_read_without_asking(mirror_mounts: MirrorMounts) -> None:
    mount = mirror_mounts(manners={"passthrough": True, "lasts": 60.0})
    data = random.Random(1).randbytes(3 * MIB)
    (mount.root / "file").write_bytes(data)
    for _ in range(2):
        assert (mount.place / "file").read_bytes() == data
    (mount.place / "file").write_bytes(b"written too")
    assert (mount.root / "file").read_bytes() == b"written too"
    assert mount.count("read") == mount.count("write") == 0
    assert mount.count("open") == 3
    assert mount.end() == ""


@pytest.mark.parametrize("linux", ["6.1", "6.6"])
def test_an_older_kernel_asks_for_all_it_reads(mirror_mounts: MirrorMounts, linux: str) -> None:
    mount = mirror_mounts(linux=linux, manners={"passthrough": True})
    (mount.root / "file").write_bytes(b"text")
    assert (mount.place / "file").read_bytes() == b"text"
    assert mount.count("read") == 1


def test_closing_is_not_told_if_nothing_is_to_be_done(mirror_mounts: MirrorMounts) -> None:
    told = mirror_mounts()
    silent = mirror_mounts(manners={"reach": int(Reach.NO_FLUSH)})
    for mount in (told, silent):
        (mount.root / "file").write_bytes(b"text")
        (mount.place / "file").read_bytes()
    assert told.count("flush") == 1
    assert silent.count("flush") == 0


def test_what_was_read_is_kept_if_it_is_still_right(mirror_mounts: MirrorMounts) -> None:
    mount = mirror_mounts(manners={"reach": int(Reach.KEEP_CACHE), "lasts": 60.0})
    (mount.root / "file").write_bytes(b"text" * 1000)
    for _ in range(3):
        assert (mount.place / "file").read_bytes() == b"text" * 1000
    assert mount.count("read") == 1


async def test_the_kernel_forgets_what_it_is_told_to(mirror_mounts: MirrorMounts) -> None:
    mount = mirror_mounts(manners={"reach": int(Reach.KEEP_CACHE), "lasts": 600.0})
    (mount.root / "file").write_bytes(b"old text")
    assert read(mount.place / "file") == b"old text"
    (mount.root / "file").write_bytes(b"new text, longer")
    assert read(mount.place / "file") == b"old text"
    mount.ask("forget_data", "file")
    await until(lambda: read(mount.place / "file") == b"new text, longer")


async def test_the_kernel_forgets_names_it_is_told_to(mirror_mounts: MirrorMounts) -> None:
    mount = mirror_mounts(manners={"lasts": 600.0})
    assert not (mount.place / "file").exists()
    (mount.root / "file").touch()
    assert not (mount.place / "file").exists()
    mount.ask("forget_name", "file")
    await until((mount.place / "file").exists)
    (mount.root / "file").unlink()
    assert (mount.place / "file").exists()
    mount.ask("forget_name", "file")
    await until(lambda: not (mount.place / "file").exists())


async def test_the_kernel_forgets_lists(mirror_mounts: MirrorMounts) -> None:
    reach = int(Reach.KEEP_CACHE | Reach.CACHE_FOLDER)
    mount = mirror_mounts(manners={"lasts": 600.0, "reach": reach})
    (mount.root / "folder").mkdir()
    for _ in range(2):
        assert os.listdir(mount.place / "folder") == []
    (mount.root / "folder" / "new").touch()
    assert os.listdir(mount.place / "folder") == []
    mount.ask("forget_data", "folder")
    await until(lambda: os.listdir(mount.place / "folder") == ["new"])


def test_a_folder_in_use_can_be_forgotten_from_the_thread_that_answers(mirror_mounts: MirrorMounts) -> None:
    """The kernel holds a folder while it makes something in it, and would wait for the answer."""
    mount = mirror_mounts(manners={"lasts": 600.0})
    for number in range(20):
        (mount.place / f"forgets-{number}").mkdir()
    assert len(os.listdir(mount.place)) == 20


def test_answers_of_many_threads_reach_whom_they_are_for(mirror_mounts: MirrorMounts) -> None:
    mount = mirror_mounts(manners={"reach": int(Reach.DIRECT)})
    data = random.Random(6).randbytes(4 * MIB)
    (mount.root / "scattered").write_bytes(data)

    def work(number: int) -> bool:
        chance = random.Random(number)
        places = [chance.randrange(4 * MIB - 40_000) for _ in range(40)]
        descriptor = os.open(mount.place / "scattered", os.O_RDONLY)
        try:
            return all(os.pread(descriptor, 40_000, place) == data[place : place + 40_000] for place in places)
        finally:
            os.close(descriptor)

    with ThreadPoolExecutor(24) as threads:
        assert all(threads.map(work, range(48)))
    assert mount.statistics()["waiting"] == 0
    assert mount.end() == ""


def test_accesses_are_written_down_while_somebody_wants_it(mirror_mounts: MirrorMounts) -> None:
    mount = mirror_mounts()
    (mount.root / "file").write_bytes(b"text")
    (mount.root / "later").write_bytes(b"text")
    (mount.place / "file").read_bytes()
    mount.ask("log", "accesses")
    (mount.place / "file").read_bytes()
    (mount.place / "later").read_bytes()
    (mount.place / "a folder\n").mkdir(mode=0o700)
    (mount.place / "nothing").exists()
    mount.ask("log", "")
    (mount.place / "file").read_bytes()
    lines = Path(f"{mount.root}.accesses").read_text().splitlines()
    assert sum(" open " in line for line in lines) == 2
    process = f"user=0 group=0 process={os.getpid()}"
    assert any(f"Z {process} lookup node=1 'file': ok " in line for line in lines)
    assert any(f"{process} mkdir node=1 mode=0o700 'a folder\\n': ok" in line for line in lines)
    reads = [line for line in lines if " read " in line]
    assert all("offset=0 size=4096: ok " in line for line in reads)
    assert float(reads[1].split()[-2]) >= 15
    assert all(line.endswith(" ms") for line in lines)


def test_answers_that_are_too_long_harm_only_whoever_asked(mirror_mounts: MirrorMounts) -> None:
    mount = mirror_mounts(manners={"reach": int(Reach.DIRECT)})
    (mount.root / "too-much").write_bytes(b"text")
    with pytest.raises(OSError, match="Input/output"):
        (mount.place / "too-much").read_bytes()
    (mount.root / "file").write_bytes(b"text")
    assert (mount.place / "file").read_bytes() == b"text"
    assert "did not take a reply" in mount.errors


def test_what_was_asked_is_counted_and_timed(mirror_mounts: MirrorMounts) -> None:
    mount = mirror_mounts()
    (mount.root / "later").write_bytes(b"text")
    (mount.place / "later").read_bytes()
    (mount.place / "nothing").exists()
    with pytest.raises(OSError, match="No space"):
        (mount.place / "fails-28").stat()
    figures = mount.statistics()["figures"]
    assert figures["read"]["count"] == 1
    assert figures["read"]["total"] >= 15_000_000
    assert figures["lookup"]["failed"] == {"28": 1}
    assert sum(figures["lookup"]["spans"]) == figures["lookup"]["count"]
