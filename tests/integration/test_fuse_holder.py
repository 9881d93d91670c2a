"""A mount that outlives whoever serves it."""

from __future__ import annotations

import errno
import hashlib
import os
import random
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from fixtures_fuse import SETTLED, Holdings
from paddleflow.mountinfo import read_mounts
from pf_fuse.holder.client import HolderGone, take
from pf_fuse.holder.messages import Adopt, Come, Welcome, receive, send
from support.fuse_holders import Holding, until_it_listens
from support.fuse_mounts import detach
from support.waiting import until

MIB = 1 << 20
KILLS = 20
CRASH_KILLS = 100
MORE = 0.5
"""Seconds that a reader may wait beside those in which the next client starts."""


class Reader(threading.Thread):
    """Reads a file again and again, whole and in pieces, and looks whether it is right."""

    def __init__(self, path: Path, data: bytes) -> None:
        super().__init__()
        self.failures: list[BaseException] = []
        self.times: list[float] = []
        self.rounds = 0
        self.enough = threading.Event()
        self._path = path
        self._data = data

    def run(self) -> None:
        wanted = hashlib.sha256(self._data).hexdigest()
        try:
            while not self.enough.is_set():
                assert self._read() == wanted
                self.rounds += 1
        except (AssertionError, OSError) as failure:
            self.failures.append(failure)

    def _read(self) -> str:
        found = hashlib.sha256()
        with open(self._path, "rb", buffering=0) as file:
            while True:
                begun = time.monotonic()
                part = file.read(256 * 1024)
                self.times.append(time.monotonic() - begun)
                if not part:
                    return found.hexdigest()
                found.update(part)


def write(path: Path, real: Path, enough: threading.Event, failures: list[BaseException]) -> None:
    """Writes a file again and again, and looks whether it is what was written."""
    chance = random.Random(3)
    try:
        while not enough.is_set():
            data = chance.randbytes(MIB)
            with open(path, "wb", buffering=0) as file:
                assert all(file.write(data[start : start + 65536]) == 65536 for start in range(0, MIB, 65536))
            assert real.read_bytes() == data
    except (AssertionError, OSError) as failure:
        failures.append(failure)


def look(folder: Path, enough: threading.Event, failures: list[BaseException]) -> None:
    """Lists a folder and looks at all that is in it, again and again."""
    try:
        while not enough.is_set():
            assert len(os.listdir(folder)) == 50
            assert all((folder / f"file-{number}").stat().st_size == number for number in range(50))
            assert not (folder / "nothing").exists()
    except (AssertionError, OSError) as failure:
        failures.append(failure)


def survive(holding: Holding, kills: int) -> tuple[float, float]:
    """Kills clients under load: the longest that any read took, and the longest that there was no client."""
    chance = random.Random(1)
    data = chance.randbytes(8 * MIB)
    (holding.root / "file").write_bytes(data)
    (holding.root / "folder").mkdir()
    for number in range(50):
        (holding.root / "folder" / f"file-{number}").write_bytes(bytes(number))
    holding.served(1)
    readers = [Reader(holding.place / "file", data) for _ in range(2)]
    enough, failures = threading.Event(), list[BaseException]()
    looker = threading.Thread(target=look, args=(holding.place / "folder", enough, failures))
    written = [folder / "written" for folder in (holding.place, holding.root)]
    writer = threading.Thread(target=write, args=(*written, enough, failures))
    for thread in (*readers, looker, writer):
        thread.start()
    gaps = []
    for _ in range(kills):
        time.sleep(SETTLED + chance.random() * 0.1)
        rounds = readers[0].rounds
        gaps.append(holding.kill_client())
        wait_for_reads(readers, rounds)
    for reader in readers:
        reader.enough.set()
    enough.set()
    for thread in (*readers, looker, writer):
        thread.join(20)
        assert not thread.is_alive()
    assert [reader.failures for reader in readers] == [[], []]
    assert failures == []
    assert all(client.resumed for client in holding.clients[1:])
    assert len(holding.clients) == kills + 1
    return max(max(reader.times) for reader in readers), max(gaps)


def wait_for_reads(readers: Sequence[Reader], rounds: int) -> None:
    """Until the first of them has read more often than so many times."""
    deadline = time.monotonic() + 20
    while readers[0].rounds <= rounds:
        assert not readers[0].failures, readers[0].failures
        assert time.monotonic() < deadline, "nothing is read any more"
        time.sleep(0.005)


def test_programs_notice_nothing_of_killed_clients_but_a_pause(holdings: Holdings) -> None:
    waited, gap = survive(holdings(), KILLS)
    assert waited <= gap + MORE


@pytest.mark.crash
@pytest.mark.timeout(300)
def test_a_hundred_killed_clients_are_as_good_as_twenty(holdings: Holdings) -> None:
    waited, gap = survive(holdings(), CRASH_KILLS)
    assert waited <= gap + MORE


def test_what_was_done_and_not_said_is_done_once(holdings: Holdings) -> None:
    """Each of these is done by a client that is killed before it answers, and is asked again."""
    holding = holdings()
    holding.served(1)
    place = holding.place
    name = "user.dies-{}".format
    os.mkdir(place / name("folder"))
    os.close(os.open(place / name("file"), os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    os.mknod(place / name("node"), stat.S_IFREG | 0o600)
    os.symlink("file", place / name("soft"))
    os.link(place / name("file"), place / name("hard"))
    assert sorted(os.listdir(place)) == sorted(os.listdir(holding.root))
    assert len(os.listdir(place)) == 5
    os.setxattr(place / name("file"), name("value"), b"1", os.XATTR_CREATE)
    os.removexattr(place / name("file"), name("value"))
    os.rename(place / name("node"), place / name("moved"))
    os.unlink(place / name("moved"))
    os.rmdir(place / name("folder"))
    assert sorted(os.listdir(holding.root)) == sorted(map(name, ["file", "hard", "soft"]))
    assert len(holding.clients) == 11
    with pytest.raises(FileNotFoundError):
        os.unlink(place / name("moved"))


def test_files_that_the_kernel_reads_itself_are_read_on_without_a_client(holdings: Holdings) -> None:
    holding = holdings(manners={"passthrough": True})
    client = holding.served(1)
    data = random.Random(2).randbytes(2 * MIB)
    (holding.root / "file").write_bytes(data)
    with open(holding.place / "file", "rb", buffering=0) as file:
        os.kill(client.pid, signal.SIGSTOP)
        assert file.read(2 * MIB) == data
        os.kill(client.pid, signal.SIGKILL)
        holding.served(2)
        # The one after registers the same file while it is open, which the kernel takes by its number only.
        assert (holding.place / "file").read_bytes() == data
        assert os.pread(file.fileno(), MIB, MIB) == data[MIB:]
    assert (holding.place / "file").read_bytes() == data


def test_what_a_client_had_kept_is_told_to_the_next(holdings: Holdings) -> None:
    holding = holdings()
    first = holding.served(1)
    assert (first.resumed, first.kept) == (False, "")
    holding.kill_client()
    second = holding.served(2)
    assert (second.resumed, second.kept) == (True, f"kept by {first.pid}")


def test_the_holder_ends_with_the_mount(holdings: Holdings) -> None:
    holding = holdings()
    holding.served(1)
    detach(holding.place)
    assert holding.process.wait(10) == 0
    assert not holding.place.with_name("socket").exists()


def test_a_holder_that_is_asked_to_end_unmounts(holdings: Holdings) -> None:
    holding = holdings()
    client = holding.served(1)
    holding.process.terminate()
    assert holding.process.wait(10) == 0
    assert read_mounts().top(str(holding.place)) is None
    with pytest.raises(ProcessLookupError):
        os.kill(client.pid, 0)


async def test_a_client_that_dies_again_and_again_is_waited_for_longer(holdings: Holdings) -> None:
    holding = holdings(command=["false"], settled=10.0)
    await until(lambda: holding.errors.count("ended with status 1") == 4)
    await until(lambda: holding.errors.count("ended with status 1") == 5)
    assert holding.process.poll() is None


async def test_a_command_that_is_not_there_is_said(holdings: Holdings) -> None:
    holding = holdings(command=["/not/there"])
    await until(lambda: "No such file or directory: '/not/there'" in holding.errors)


def test_on_older_kernels_the_mount_is_made_anew(holdings: Holdings) -> None:
    holding = holdings(linux="6.1")
    holding.served(1)
    (holding.root / "file").write_bytes(bytes(8 * MIB))
    descriptor = os.open(holding.place / "file", os.O_RDONLY)
    try:
        assert os.read(descriptor, 4) == bytes(4)
        holding.kill_client()
        second = holding.served(2)
        assert (second.resumed, second.kept) == (False, "")
        with pytest.raises(OSError, match=r"endpoint|abort") as refused:
            os.pread(descriptor, 10, 7 * MIB)
        assert refused.value.errno in {errno.ENOTCONN, errno.ECONNABORTED}
    finally:
        with suppress(OSError):
            os.close(descriptor)
    assert (holding.place / "file").read_bytes() == bytes(8 * MIB)


def test_a_client_that_comes_is_served_by_when_the_other_yields(holdings: Holdings, tmp_path: Path) -> None:
    holding = holdings()
    first = holding.served(1)
    journal = tmp_path / "journal"
    command = [sys.executable, "-m", "support.fuse_held_mirror", str(holding.root), f'{{"journal": "{journal}"}}']
    surroundings = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "PF_FUSE_HOLDER": str(tmp_path / "socket")}
    other = subprocess.Popen(command, env=surroundings)
    try:
        assert holding.served(2).pid == other.pid
        assert holding.served(2).resumed
        holding.says("status 75")
        assert first.pid != other.pid
    finally:
        other.kill()
        other.wait()


def test_nobody_is_there_where_there_is_no_holder(tmp_path: Path) -> None:
    with pytest.raises(HolderGone, match="there is no holder at"):
        take(str(tmp_path / "nowhere"))


def test_nonsense_ends_only_whoever_says_it(holdings: Holdings, tmp_path: Path) -> None:
    holding = holdings(command=[])
    until_it_listens(tmp_path / "socket")
    for packet in (b"nonsense", b'["Welcome", {}]', b'["Keep", {"text": 1, "more": 2}]', b"\0" * 1000):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as peer:
            peer.connect(str(tmp_path / "socket"))
            send(peer, Come())
            welcome, device = receive(peer)
            assert isinstance(welcome, Welcome)
            assert device is not None
            os.close(device)
            peer.send(packet)
            assert receive(peer) == (None, None)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as peer:
        peer.connect(str(tmp_path / "socket"))
        send(peer, Come())
        welcome, device = receive(peer)
        assert isinstance(welcome, Welcome)
        assert device is not None
        send(peer, welcome)
        os.close(device)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as peer:
        peer.connect(str(tmp_path / "socket"))
        send(peer, Adopt(40, 0, 4096, "", []), peer.fileno())
        assert receive(peer) == (None, None)
    assert holding.process.poll() is None


def test_a_mount_outlives_its_holder_and_is_taken_up_by_the_next(holdings: Holdings) -> None:
    first = holdings(manners={"passthrough": True})
    client = first.served(1)
    data = random.Random(4).randbytes(MIB)
    (first.root / "file").write_bytes(data)
    with open(first.place / "file", "rb", buffering=0) as file:
        first.process.kill()
        first.process.wait()
        assert (first.place / "file").stat().st_size == MIB
        second = holdings(manners={"passthrough": True})
        # It has the same client, which registers again, until that one is killed and the new holder starts another.
        assert file.read(MIB) == data
        (first.root / "other").write_bytes(data)
        second.says("goes on with 1 registered files")
        assert (first.place / "other").read_bytes() == data
        assert second.served(1).pid == client.pid
        second.kill_client()
        assert second.served(2).resumed
        assert second.served(2).kept == f"kept by {client.pid}"
        assert (first.place / "file").read_bytes() == data
        assert os.pread(file.fileno(), MIB, 0) == data


def test_the_mount_of_an_earlier_holder_that_nobody_serves_is_made_anew(holdings: Holdings) -> None:
    first = holdings()
    client = first.served(1)
    (first.root / "file").write_text("text")
    first.process.kill()
    first.process.wait()
    os.kill(client.pid, signal.SIGKILL)
    second = holdings(patience=0.2)
    assert not second.served(2).resumed
    assert (second.place / "file").read_text() == "text"
