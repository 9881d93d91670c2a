"""Stores that do not answer and disks that break, under mounts that are in use."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from paddleflow.mounting import MountOptions
from support.fault_proxy import Fault, FaultProxy, Kind, fault_proxy
from support.mounts import Mount, new_mount
from support.s3_servers import S3Server, place_in
from support.soaking import told

pytestmark = [pytest.mark.soak, pytest.mark.timeout(900)]
MIB = 1 << 20
DEADLINE = 60.0
"""Seconds after which a read of a store that does not answer has failed."""
MORE = 15.0
AT_ONCE = 1.0
FILES = 20


@pytest.fixture
def proxy(seaweed_server: S3Server) -> Iterator[FaultProxy]:
    with fault_proxy(seaweed_server.port) as proxy:
        yield proxy


def timed_read(path: Path) -> tuple[bytes | OSError, float]:
    begun = time.monotonic()
    try:
        return path.read_bytes(), time.monotonic() - begun
    except OSError as error:
        return error, time.monotonic() - begun


def test_a_store_that_stalls_keeps_nobody_from_what_is_here(
    seaweed_server: S3Server, proxy: FaultProxy, tmp_path: Path
) -> None:
    place = place_in(replace(seaweed_server, port=proxy.port), f"stalled-{tmp_path.name}")
    data = {name: os.urandom(MIB) for name in ("warm", "cold", "other")}
    with new_mount() as before:
        before.begin(*place)
        for name, content in data.items():
            (before.place / name).write_bytes(content)
        before.end()
    with new_mount() as mount, ThreadPoolExecutor(2) as readers:
        # Names are known all the while; what a look costs is a matter of its own.
        mount.begin(*place, MountOptions(more={"lasts": 600.0}))
        assert sorted(path.name for path in mount.place.iterdir()) == sorted(data)
        assert all((mount.place / name).stat().st_size == MIB for name in data)
        assert (mount.place / "warm").read_bytes() == data["warm"]
        proxy.always = Fault(Kind.STALL)
        proxy.next()
        waiting = {name: readers.submit(timed_read, mount.place / name) for name in ("cold", "other")}
        looks = []
        while not all(each.done() for each in waiting.values()):
            found, took = timed_read(mount.place / "warm")
            assert found == data["warm"]
            looks.append(took)
            time.sleep(0.2)
        ended = {name: each.result() for name, each in waiting.items()}
        told(
            f"stalled store: reads failed after {[round(took, 1) for _, took in ended.values()]} s, "
            f"{len(looks)} reads of a cached file meanwhile took at most {max(looks):.2f} s"
        )
        assert all(isinstance(found, OSError) and took < DEADLINE + MORE for found, took in ended.values()), ended
        assert max(looks) < AT_ONCE
        proxy.always = None
        proxy.next()
        assert (mount.place / "cold").read_bytes() == data["cold"]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """A disk in a file, and where it is mounted."""
    raw, place = tmp_path / "image", tmp_path / "disk"
    with raw.open("wb") as file:
        file.truncate(256 * MIB)
    subprocess.run([shutil.which("mkfs.ext4") or "/sbin/mkfs.ext4", "-q", str(raw)], check=True)
    place.mkdir()
    subprocess.run(["mount", "-o", "loop", str(raw), str(place)], check=True)
    yield raw, place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.mark.parametrize("passthrough", [True, False])
def test_a_disk_of_the_cache_that_breaks_gives_no_wrong_bytes(
    seaweed_server: S3Server, disk: tuple[Path, Path], tmp_path: Path, passthrough: bool
) -> None:
    """Who asks the mount notices nothing. What the kernel reads by itself fails: nobody reads it elsewhere."""
    raw, cache = disk
    more = {"lasts": 600.0} | ({} if passthrough else {"linux": "6.1"})
    with new_mount() as mount:
        options = MountOptions(cache_folders=[cache], more=more)
        mount.begin(*place_in(seaweed_server, f"broken-{tmp_path.name}"), options)
        data = {f"{number}": os.urandom(2 * MIB) for number in range(FILES)}
        for name, content in data.items():
            (mount.place / name).write_bytes(content)
        assert failed(mount, data) == failed(mount, data) == 0
        os.sync()
        os.truncate(raw, 16 * MIB)
        Path("/proc/sys/vm/drop_caches").write_text("3")
        count = failed(mount, data)
        trouble = mount.stats()["cache"]["folders"][0]["trouble"]
        told(f"a broken disk of the cache, passthrough {passthrough}: {count} of {FILES} failed; trouble {trouble!r}")
        assert passthrough or not count
        os.truncate(raw, 256 * MIB)


def failed(mount: Mount, data: Mapping[str, bytes]) -> int:
    """How many cannot be read; the others are right."""
    found = {name: timed_read(mount.place / name)[0] for name in data}
    assert all(isinstance(content, OSError) or content == data[name] for name, content in found.items())
    return sum(isinstance(content, OSError) for content in found.values())
