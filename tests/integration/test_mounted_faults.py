"""Whole mounts whose network, disks and kernel are not as they should be."""

from __future__ import annotations

import os
import resource
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from paddleflow.mounting import MountOptions, state_folder
from pf_backends.s3.backend import S3Backend
from support import fuse_mounts
from support.fault_proxy import Fault, FaultProxy, Kind, fault_proxy
from support.mounts import Mount, new_mount
from support.s3_servers import S3Server, place_in
from support.stacks import wait_until

pytestmark = pytest.mark.skipif(bool(fuse_mounts.missing()), reason=fuse_mounts.missing())
MIB = 1 << 20
SLOWER = b"HTTP/1.1 503 Slow Down\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
FAULTS = {
    "late": [Fault(Kind.DELAY, after=100, seconds=0.3)] * 4,
    "reset at once": [Fault(Kind.RESET)] * 3,
    "reset amid": [Fault(Kind.RESET, after=20_000)] * 3,
    "cut off": [Fault(Kind.CUT, after=20_000)] * 3,
    "told to slow down": [Fault(Kind.ANSWER, answer=SLOWER)] * 3,
    "flipped": [Fault(Kind.FLIP, after=20_000)] * 2,
}
SIZES = (60_000, 3 * MIB)
IN_TIME = 30.0
"""Seconds in which all of these are over."""
SLOW = 5.0
"""Seconds that a store takes."""


@pytest.fixture(scope="module")
def proxy(seaweed_server: S3Server) -> Iterator[FaultProxy]:
    with fault_proxy(seaweed_server.port) as proxy:
        yield proxy


@pytest.fixture(scope="module")
def store(seaweed_server: S3Server) -> Iterator[S3Backend]:
    """What is mounted, from the other side, without a proxy."""
    backend = S3Backend(replace(seaweed_server.settings, prefix="faulty"))
    yield backend
    backend.close()


@pytest.fixture(scope="module")
def data(store: S3Backend) -> Mapping[str, bytes]:
    """What lies there, by its names."""
    data = {f"{fault} {size}": os.urandom(size) for fault in FAULTS for size in SIZES}
    for name, content in data.items():
        store.put(name, content)
    return data


@pytest.fixture(scope="module")
def crooked(seaweed_server: S3Server, proxy: FaultProxy, data: Mapping[str, bytes]) -> Iterator[Path]:
    """A mount of it through the proxy."""
    assert data
    with new_mount() as mount:
        mount.begin(*place_in(replace(seaweed_server, port=proxy.port), "faulty"))
        yield mount.place


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("size", SIZES)
def test_what_is_read_is_right_whatever_the_network_does(
    crooked: Path, proxy: FaultProxy, data: Mapping[str, bytes], fault: str, size: int
) -> None:
    name = f"{fault} {size}"
    # In parts of large files only TLS notices flipped bits.
    proxy.next(*FAULTS["reset amid" if fault == "flipped" and size > MIB else fault])
    begun = time.monotonic()
    assert (crooked / name).read_bytes() == data[name]
    assert time.monotonic() - begun < IN_TIME


@pytest.mark.parametrize("fault", ["late", "reset at once", "told to slow down"])
def test_what_is_written_arrives_whatever_the_network_does(
    crooked: Path, proxy: FaultProxy, store: S3Backend, fault: str
) -> None:
    name, data = f"written {fault}", os.urandom(MIB)
    with (crooked / name).open("wb") as file:
        file.write(data)
        proxy.next(*FAULTS[fault])
    (crooked / name).rename(crooked / f"{name} and renamed")
    assert store.fetch(f"{name} and renamed", limit=MIB)[1] == data


@contextmanager
def tiny_disk(place: Path, size: str) -> Iterator[Path]:
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "tiny", str(place)], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def test_a_full_disk_of_the_cache_keeps_nobody_from_reading(
    seaweed_server: S3Server, store: S3Backend, tmp_path: Path
) -> None:
    data = os.urandom(12 * MIB)
    store.put("larger than the disk", data)
    with tiny_disk(tmp_path / "cache", "4m") as cache, new_mount() as mount:
        mount.begin(*place_in(seaweed_server, "faulty"), MountOptions(cache_folders=[cache]))
        for _ in range(2):
            assert (mount.place / "larger than the disk").read_bytes() == data


def test_a_full_disk_is_told_to_who_writes_and_harms_no_other_file(seaweed_server: S3Server, tmp_path: Path) -> None:
    with new_mount() as mount, tiny_disk(mount.home / "paddleflow", "3m"):
        mount.begin(*place_in(seaweed_server, f"full-{tmp_path.name}"))
        (mount.place / "small").write_bytes(b"small")
        with pytest.raises(OSError, match="space"):
            _fill(mount.place / "large")
        (mount.place / "large").unlink()
        (mount.place / "another").write_bytes(b"y" * MIB)
        assert (mount.place / "another").read_bytes() == b"y" * MIB
        assert (mount.place / "small").read_bytes() == b"small"
        mount.end()


def _fill(path: Path) -> None:
    with path.open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * MIB)


def test_thousands_of_files_are_open_at_once(tmp_path: Path) -> None:
    count = 1200
    (tmp_path / "folder").mkdir()
    for number in range(count):
        (tmp_path / "folder" / f"{number}").write_text(f"{number}")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with new_mount() as mount:
        resource.setrlimit(resource.RLIMIT_NOFILE, (1024, hard))
        mount.begin(f"local://{tmp_path / 'folder'}", {})
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        opened: list[int] = []
        try:
            opened += [os.open(mount.place / f"{number}", os.O_RDONLY) for number in range(count)]
            for number, each in enumerate(opened):
                assert os.pread(each, 10, 0) == f"{number}".encode()
        finally:
            for each in opened:
                os.close(each)
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_on_an_older_kernel_files_are_read_and_written_and_a_killed_client_is_replaced(
    seaweed_server: S3Server, tmp_path: Path
) -> None:
    data = os.urandom(4 * MIB)
    with new_mount() as mount:
        mount.begin(*place_in(seaweed_server, f"older-{tmp_path.name}"), MountOptions(more={"linux": "6.1"}))
        assert not mount.stats()["passthrough"]
        (mount.place / "d").mkdir()
        (mount.place / "d" / "f").write_bytes(data)
        assert [(mount.place / "d" / "f").read_bytes() for _ in range(3)] == [data] * 3
        mount.kill()
        # What was open there fails; whoever comes later finds all that was closed.
        assert _read_soon(mount, "d/f") == data


def _read_soon(mount: Mount, name: str) -> bytes:
    deadline = time.monotonic() + IN_TIME
    while True:
        try:
            return (mount.place / name).read_bytes()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def test_a_mount_serves_at_once_though_a_folder_is_left_to_rename_and_the_store_is_slow(
    seaweed_server: S3Server, proxy: FaultProxy, tmp_path: Path
) -> None:
    names = [f"{number:03}" for number in range(200)]
    with new_mount() as mount, ThreadPoolExecutor() as pool:
        mount.begin(*place_in(replace(seaweed_server, port=proxy.port), f"left-{tmp_path.name}"))
        (mount.place / "d").mkdir()
        list(pool.map(lambda name: (mount.place / "d" / name).write_text(name), names))
        renaming = pool.submit((mount.place / "d").rename, mount.place / "e")
        moves = state_folder(mount.place, mount.environ) / "moves"
        wait_until(lambda: any(moves.iterdir()))
        proxy.next(*[Fault(Kind.DELAY, after=0, seconds=SLOW)] * 64)
        assert any(moves.iterdir()), "it is cut off amid it"
        begun = time.monotonic()
        mount.kill()
        assert time.monotonic() - begun < SLOW
        renaming.result(IN_TIME)
        assert {each.name: each.read_text() for each in (mount.place / "e").iterdir()} == {n: n for n in names}
        assert not (mount.place / "d").exists()


@pytest.mark.parametrize("target", ["e", "other/e"])
def test_what_others_do_in_a_folder_while_it_is_renamed_is_so_afterwards(
    seaweed_server: S3Server, proxy: FaultProxy, tmp_path: Path, target: str
) -> None:
    names = [f"{number:03}" for number in range(200)]
    expected = dict(zip(names, names, strict=True))
    with new_mount() as mount, ThreadPoolExecutor(16) as pool:
        mount.begin(*place_in(replace(seaweed_server, port=proxy.port), f"amid-{tmp_path.name}"))
        source, others = mount.place / "d", mount.place / "other"
        source.mkdir()
        others.mkdir()
        list(pool.map(lambda name: (source / name).write_text(name), names))
        folder = os.open(source, os.O_RDONLY | os.O_DIRECTORY)
        opened, read = (os.open(name, flag, dir_fd=folder) for name, flag in (("001", os.O_RDWR), ("002", os.O_RDONLY)))
        renaming = pool.submit(source.rename, mount.place / target)
        moves = state_folder(mount.place, mount.environ) / "moves"
        wait_until(lambda: any(moves.iterdir()))
        proxy.next(*[Fault(Kind.DELAY, after=0, seconds=0.5)] * 16)
        done: list[Future[None]] = [
            pool.submit(_write, os.open, "000", os.O_WRONLY | os.O_TRUNC, folder),
            pool.submit(_write, os.open, "new", os.O_WRONLY | os.O_CREAT, folder),
            pool.submit(_write, lambda *_, **__: opened, "001", 0, folder),
            pool.submit(os.unlink, "003", dir_fd=folder),
            pool.submit(os.mkdir, "sub", dir_fd=folder),
            pool.submit(os.rename, "004", "moved", src_dir_fd=folder, dst_dir_fd=folder),
        ]
        assert any(moves.iterdir()), "it is under way"
        (others / "f").write_text("elsewhere")
        assert os.pread(read, 10, 0) == b"002"
        os.close(read)
        renaming.result(IN_TIME)
        for each in done:
            each.result(IN_TIME)
        os.close(folder)
        expected |= {"000": "NEW", "001": "NEW", "new": "NEW", "moved": "004"}
        del expected["003"], expected["004"]
        there = list((mount.place / target).iterdir())
        assert {each.name: each.read_text() for each in there if each.is_file()} == expected
        assert [each.name for each in there if each.is_dir()] == ["sub"]
        assert not source.exists()


def _write(opens: Callable[..., int], name: str, flags: int, folder: int) -> None:
    file = opens(name, flags, 0o644, dir_fd=folder)
    os.write(file, b"NEW")
    os.close(file)
