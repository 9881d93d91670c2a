"""What programs do with files of a mount that the kernel's own protocol serves."""

from __future__ import annotations

import errno
import hashlib
import mmap
import os
import random
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from fixtures_fuse import Mirrored

MIB = 1 << 20
KEEP_SIZE, PUNCH_HOLE = 1, 2


def write(path: os.PathLike[str], data: bytes) -> None:
    with open(path, "wb") as file:
        file.write(data)


def test_what_is_written_is_read(mirrored: Mirrored) -> None:
    data = random.Random(1).randbytes(3 * MIB + 17)
    write(mirrored.seen / "file", data)
    assert (mirrored.real / "file").read_bytes() == data
    assert (mirrored.seen / "file").read_bytes() == data


def test_large_reads_and_writes_are_as_good_as_small_ones(mirrored: Mirrored) -> None:
    data = random.Random(2).randbytes(5 * MIB)
    with open(mirrored.seen / "file", "wb", buffering=0) as file:
        assert file.write(data) == len(data)
    with open(mirrored.seen / "file", "rb", buffering=0) as file:
        assert file.read(len(data)) == data
        assert os.pread(file.fileno(), 10, len(data) - 5) == data[-5:]
        assert os.pread(file.fileno(), 10, len(data)) == b""


def test_a_file_is_written_in_the_middle_and_at_the_end(mirrored: Mirrored) -> None:
    write(mirrored.seen / "file", b"0123456789")
    with open(mirrored.seen / "file", "r+b") as file:
        file.seek(3)
        file.write(b"abc")
    with open(mirrored.seen / "file", "ab") as file:
        file.write(b"end")
    assert (mirrored.seen / "file").read_bytes() == b"012abc6789end"


def test_a_new_file_is_made_once(mirrored: Mirrored) -> None:
    path = mirrored.seen / "file"
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o640))
    assert path.stat().st_mode & 0o777 == 0o640
    with pytest.raises(FileExistsError):
        os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY)


def test_opening_truncates_if_it_is_told_to(mirrored: Mirrored) -> None:
    write(mirrored.seen / "file", b"long enough")
    os.close(os.open(mirrored.seen / "file", os.O_WRONLY | os.O_TRUNC))
    assert (mirrored.seen / "file").stat().st_size == 0
    assert (mirrored.real / "file").read_bytes() == b""


def test_a_file_is_cut_and_made_longer(mirrored: Mirrored) -> None:
    path = mirrored.seen / "file"
    write(path, b"0123456789")
    os.truncate(path, 4)
    assert path.read_bytes() == b"0123"
    os.truncate(path, 6)
    assert path.read_bytes() == b"0123\0\0"


def test_a_removed_file_is_there_for_whoever_has_it_open(mirrored: Mirrored) -> None:
    with open(mirrored.seen / "file", "w+b", buffering=0) as file:
        file.write(b"still here")
        os.unlink(mirrored.seen / "file")
        assert os.pread(file.fileno(), 20, 0) == b"still here"
        assert os.fstat(file.fileno()).st_nlink == 0
    assert os.listdir(mirrored.seen) == []


def test_memory_and_file_are_the_same(mirrored: Mirrored) -> None:
    write(mirrored.seen / "file", bytes(2 * MIB))
    with open(mirrored.seen / "file", "r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        memory[MIB : MIB + 5] = b"hello"
        memory.flush()
        assert os.pread(file.fileno(), 5, MIB) == b"hello"
    assert (mirrored.real / "file").read_bytes()[MIB : MIB + 5] == b"hello"


def test_a_program_runs_from_a_mount(mirrored: Mirrored) -> None:
    (mirrored.seen / "say").write_text("#!/bin/sh\necho said\n")
    (mirrored.seen / "say").chmod(0o755)
    assert subprocess.run([mirrored.seen / "say"], capture_output=True).stdout == b"said\n"


def test_syncing_succeeds(mirrored: Mirrored) -> None:
    with open(mirrored.seen / "file", "wb") as file:
        file.write(b"x")
        file.flush()
        os.fsync(file.fileno())
        os.fdatasync(file.fileno())
    folder = os.open(mirrored.seen, os.O_RDONLY | os.O_DIRECTORY)
    os.fsync(folder)
    os.close(folder)


def test_space_is_allotted_and_given_back(mirrored: Mirrored) -> None:
    with open(mirrored.seen / "file", "w+b") as file:
        os.posix_fallocate(file.fileno(), 0, MIB)
        assert os.fstat(file.fileno()).st_size == MIB
    assert (mirrored.real / "file").stat().st_blocks * 512 >= MIB


def test_holes_are_found(mirrored: Mirrored) -> None:
    with open(mirrored.seen / "file", "w+b", buffering=0) as file:
        os.pwrite(file.fileno(), b"x" * 4096, MIB)
        assert os.lseek(file.fileno(), 0, os.SEEK_DATA) == MIB
        assert os.lseek(file.fileno(), MIB, os.SEEK_HOLE) == MIB + 4096
        with pytest.raises(OSError, match="No such device or address") as refused:
            os.lseek(file.fileno(), 2 * MIB, os.SEEK_DATA)
        assert refused.value.errno == errno.ENXIO


def test_ranges_are_copied_where_the_files_lie(mirrored: Mirrored) -> None:
    data = random.Random(3).randbytes(2 * MIB)
    write(mirrored.seen / "from", data)
    with open(mirrored.seen / "from", "rb") as source, open(mirrored.seen / "to", "w+b") as target:
        copied = os.copy_file_range(source.fileno(), target.fileno(), MIB, 100, 50)
        assert copied > 0
        assert os.pread(target.fileno(), copied, 50) == data[100 : 100 + copied]


def test_direct_reads_and_writes_pass_the_cache_by(mirrored: Mirrored) -> None:
    memory = mmap.mmap(-1, MIB)
    memory[:] = random.Random(4).randbytes(MIB)
    descriptor = os.open(mirrored.seen / "file", os.O_CREAT | os.O_RDWR | os.O_DIRECT)
    try:
        assert os.pwritev(descriptor, [memory], 0) == MIB
        again = mmap.mmap(-1, MIB)
        assert os.preadv(descriptor, [again], 0) == MIB
        assert again[:] == memory[:]
    finally:
        os.close(descriptor)


def test_many_threads_read_and_write_at_once(mirrored: Mirrored) -> None:
    def work(number: int) -> bool:
        chance = random.Random(number)
        path = mirrored.seen / f"file{number}"
        data = chance.randbytes(300_000)
        write(path, data)
        with open(path, "rb", buffering=0) as file:
            places = [chance.randrange(290_000) for _ in range(30)]
            return all(os.pread(file.fileno(), 10_000, place) == data[place : place + 10_000] for place in places)

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(work, range(24)))


def test_readers_of_one_file_see_the_same(mirrored: Mirrored) -> None:
    data = random.Random(5).randbytes(4 * MIB)
    write(mirrored.seen / "file", data)
    found: list[str] = []

    def read() -> None:
        found.append(hashlib.sha256((mirrored.seen / "file").read_bytes()).hexdigest())

    threads = [threading.Thread(target=read) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(found) == {hashlib.sha256(data).hexdigest()}
    assert len(found) == 6
