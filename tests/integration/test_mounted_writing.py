"""What is written through whole mounts: where it is afterwards, and what is left of it when their process is killed."""

from __future__ import annotations

import errno
import mmap
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from paddleflow.mounting import MountOptions, state_folder
from pf_backends.s3.backend import S3Backend
from support import fuse_mounts
from support.mounts import Mount, new_mount
from support.s3_servers import S3Server, place_in
from support.waiting import wait_until

pytestmark = pytest.mark.skipif(bool(fuse_mounts.missing()), reason=fuse_mounts.missing())
MIB = 1 << 20


@pytest.fixture(scope="module")
def store(seaweed_server: S3Server) -> Iterator[S3Backend]:
    """What is mounted, from the other side."""
    backend = S3Backend(replace(seaweed_server.settings, prefix="written"))
    yield backend
    backend.close()


@pytest.fixture
def mount(seaweed_server: S3Server) -> Iterator[Mount]:
    with new_mount() as mount:
        mount.begin(*place_in(seaweed_server, "written"))
        yield mount


def has(store: S3Backend, path: str) -> bytes:
    into = bytearray(store.stat(path).size)
    assert store.read(path, 0, memoryview(into)) == len(into)
    return bytes(into)


@pytest.mark.parametrize("size", [100 << 10, 40 * MIB + 5])
def test_what_was_written_is_read_without_asking_for_it(mount: Mount, store: S3Backend, size: int) -> None:
    data, file = os.urandom(size), mount.place / f"read-{size}"
    file.write_bytes(data)
    wait_until(lambda: not mount.stats()["written"]["stage"]["files"])
    assert file.read_bytes() == data
    assert not mount.stats()["fetching"]["counts"]["fetched"]
    assert has(store, file.name) == data
    # Changed, it is another version: what the cache has of the one before stays what it was.
    with file.open("r+b") as again:
        assert again.read(3) == data[:3]
        again.seek(0)
        again.write(b"new")
    assert file.read_bytes() == b"new" + data[3:]
    assert has(store, file.name) == b"new" + data[3:]


def test_who_reads_and_maps_a_file_sees_what_others_only_write_to_it(mount: Mount) -> None:
    data, file = os.urandom(3 * MIB + 5), mount.place / "followed"
    with file.open("wb", buffering=0) as writer, file.open("rb", buffering=0) as reader:
        for offset in range(0, len(data), 700_001):
            writer.write(data[offset : offset + 700_001])
            end = min(offset + 700_001, len(data))
            assert os.fstat(reader.fileno()).st_size == end
            with mmap.mmap(reader.fileno(), end, prot=mmap.PROT_READ) as mapped:
                assert mapped[:] == data[:end] == os.pread(reader.fileno(), end, 0)
        with mmap.mmap(reader.fileno(), len(data), prot=mmap.PROT_READ) as mapped:
            assert os.pwrite(writer.fileno(), b"new", 5000) == 3
            assert mapped[4990:5010] == data[4990:5000] + b"new" + data[5003:5010]
    assert file.read_bytes() == data[:5000] + b"new" + data[5003:]


def test_a_large_file_survives_that_its_process_is_killed_while_it_is_written(mount: Mount, store: S3Backend) -> None:
    data, kills = os.urandom(48 * MIB), (17 * MIB, 33 * MIB)
    notes, seen = state_folder(mount.place, mount.environ) / "uploads", set[str]()
    with (mount.place / "killed").open("wb", buffering=0) as file:
        for offset in range(0, len(data), MIB):
            if offset in kills:
                # An upload of which nothing is written down yet is found by `fs gc` only.
                wait_until(lambda: bool(written_down(notes) - seen))
                seen.update(written_down(notes))
                mount.kill()
            assert file.write(data[offset : offset + MIB]) == MIB
    mount.kill()
    assert has(store, "killed") == data
    assert (mount.place / "killed").read_bytes() == data
    wait_until(lambda: not store.uploads(""), 20)


def written_down(notes: Path) -> set[str]:
    return {file.name for file in notes.iterdir() if not file.suffix}


def test_a_quota_is_what_df_shows_and_programs_meet(seaweed_server: S3Server) -> None:
    with new_mount() as mount:
        mount.begin(*place_in(seaweed_server, "limited"), MountOptions(more={"quota": 4 * MIB, "quotaFiles": 3}))
        (mount.place / "f").write_bytes(bytes(MIB))
        wait_until(lambda: _left(mount) == (3 * MIB, 2))
        with pytest.raises(OSError, match=os.strerror(errno.EDQUOT)):
            (mount.place / "g").write_bytes(bytes(3 * MIB + 1))
        (mount.place / "f").unlink()
        wait_until(lambda: _left(mount)[1] == 2)


def _left(mount: Mount) -> tuple[int, int]:
    told = os.statvfs(mount.place)
    return told.f_bavail * told.f_frsize, told.f_favail


def test_who_cuts_a_file_by_its_name_has_it_uploaded_at_once_and_who_has_it_open_when_it_is_closed(
    mount: Mount, store: S3Backend
) -> None:
    file = mount.place / "cut"
    file.write_bytes(b"0123456789")
    with file.open("r+b", buffering=0) as other:
        os.truncate(file, 6)
        assert has(store, "cut") == b"012345"
        os.ftruncate(other.fileno(), 3)
        assert has(store, "cut") == b"012345"
    assert has(store, "cut") == b"012"


def test_who_has_a_file_open_sees_its_size_after_it_was_replaced_elsewhere_or_its_process_was_killed(
    mount: Mount, store: S3Backend
) -> None:
    file = mount.place / "replaced"
    file.write_bytes(b"one")
    with file.open("r+b", buffering=0) as other, (mount.place / "removed").open("w+b", buffering=0) as removed:
        store.put("replaced", b"another")
        wait_until(lambda: file.read_bytes() == b"another")
        assert (os.fstat(other.fileno()).st_size, other.read()) == (3, b"one")
        removed.write(b"x" * 1000)
        (mount.place / "removed").unlink()
        mount.kill()
        assert os.fstat(removed.fileno()).st_size == 1000
        assert os.pread(removed.fileno(), 2000, 0) == b"x" * 1000
