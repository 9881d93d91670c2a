"""Whole mounts with write-back, whose processes are killed between the close of a file and its upload."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from paddleflow.mounting import MountOptions
from pf_backends.s3.backend import S3Backend
from support import fuse_mounts
from support.fault_proxy import Fault, FaultProxy, Kind, fault_proxy
from support.fuse_mounts import detach
from support.mounts import Mount, new_mount, parent_of
from support.s3_servers import S3Server, place_in
from support.stacks import wait_until

pytestmark = [
    pytest.mark.skipif(bool(fuse_mounts.missing()), reason=fuse_mounts.missing()),
    pytest.mark.timeout(180),
]
OPTIONS = MountOptions(more={"writeback": 1 << 30})
SILENT = Fault(Kind.RESET)
LATE = Fault(Kind.DELAY, seconds=30.0)
"""The store has what is sent, and says so late."""
KILLS = 4


@dataclass(frozen=True)
class Owing:
    """A mount, the way to its store, and the store from the other side."""

    mount: Mount
    proxy: FaultProxy
    store: S3Backend
    server: S3Server
    folder: str

    def begin(self) -> None:
        self.mount.begin(*place_in(replace(self.server, port=self.proxy.port), self.folder), OPTIONS)

    def silent(self, fault: Fault) -> None:
        """From now on the store does not answer as it should."""
        self.proxy.always = fault
        self.proxy.next()

    def answers(self) -> None:
        self.proxy.always = None
        self.proxy.next()

    def kill_all(self) -> None:
        client = self.mount.server()
        for process in (parent_of(client), client):
            os.kill(process, signal.SIGKILL)
        detach(self.mount.place)

    def settled(self) -> bool:
        found = self.mount.stats()["writeback"]
        return not found["files"]

    def stored(self, name: str) -> bytes | None:
        try:
            return bytes(self.store.fetch(name, limit=1 << 22)[1])
        except FileNotFoundError:
            return None


@pytest.fixture
def owing(seaweed_server: S3Server, tmp_path: Path) -> Iterator[Owing]:
    folder = f"owed-{tmp_path.name}"
    store = S3Backend(replace(seaweed_server.settings, prefix=folder))
    with fault_proxy(seaweed_server.port) as proxy, new_mount() as mount:
        made = Owing(mount, proxy, store, seaweed_server, folder)
        made.begin()
        yield made
        made.answers()
    store.close()


@pytest.mark.parametrize("fault", [SILENT, LATE], ids=["before it is sent", "before it is known to be stored"])
@pytest.mark.parametrize("killed", ["client", "all"])
def test_what_was_closed_is_stored_whoever_is_killed(owing: Owing, fault: Fault, killed: str) -> None:
    place, data = owing.mount.place, os.urandom(300_000)
    (place / "before").write_bytes(b"before")
    wait_until(owing.settled)
    with (place / "f").open("wb") as new, (place / "before").open("wb") as old:
        new.write(data)
        old.write(b"after")
        # Whether there is something of a name, the store was asked when they were opened.
        owing.silent(fault)
    assert not owing.settled()
    if killed == "client":
        owing.mount.kill()
        owing.answers()
    else:
        owing.kill_all()
        owing.answers()
        owing.begin()
    wait_until(lambda: (owing.stored("f"), owing.stored("before")) == (data, b"after"))
    wait_until(owing.settled)
    assert (place / "f").read_bytes() == data
    assert not owing.mount.stats()["written"]["aside"]["files"]


def test_whatever_was_closed_amid_kills_is_stored_as_it_was_closed(owing: Owing) -> None:
    closed, ended = dict[str, bytes](), threading.Event()

    def write() -> None:
        number = 0
        while not ended.is_set():
            number += 1
            name, data = f"{number % 40}", os.urandom(number % 7 * 10_000 + 1)
            closed.pop(name, None)
            (owing.mount.place / name).write_bytes(data)
            closed[name] = data

    writing = threading.Thread(target=write)
    writing.start()
    try:
        for kills in range(KILLS):
            wait_until(lambda kills=kills: len(closed) > 8 * kills)  # type: ignore[misc]
            owing.mount.kill()
    finally:
        ended.set()
        writing.join(30)
    assert not writing.is_alive()
    wait_until(lambda: {name: owing.stored(name) for name in closed} == closed)
    wait_until(owing.settled)
    assert not owing.mount.stats()["written"]["aside"]["files"]


def test_the_end_of_a_mount_waits_for_what_is_owed(owing: Owing) -> None:
    for number in range(50):
        (owing.mount.place / f"{number}").write_text(f"{number}")
    owing.mount.end()
    assert [owing.stored(f"{number}") for number in range(50)] == [b"%d" % number for number in range(50)]
    owing.begin()
