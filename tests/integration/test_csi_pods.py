"""Mounts that are served by clients without rights, which come by themselves as pods do."""

from __future__ import annotations

import hashlib
import os
import signal
import stat
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from support.csi_pods import USER, Pods, new_pods
from support.csi_site import refused
from support.stacks import wait_until

MIB = 1 << 20


@pytest.fixture
def pods() -> Iterator[Pods]:
    with new_pods() as made:
        yield made


class Reader(threading.Thread):
    """Reads a file again and again, by the same descriptor and by new ones, and looks whether it is right."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._digest = hashlib.sha256(path.read_bytes()).digest()
        self._path = path
        self._file = path.open("rb", buffering=0)
        self._told = threading.Event()
        self.rounds = 0
        self.faults: list[str] = []

    def run(self) -> None:
        while not self._told.is_set():
            try:
                os.posix_fadvise(self._file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                data = b"".join(iter(lambda: os.pread(self._file.fileno(), MIB, self.at), b""))
                again = self._path.read_bytes()
                if {hashlib.sha256(data).digest(), hashlib.sha256(again).digest()} != {self._digest}:
                    self.faults.append("other bytes")
            except OSError as error:
                self.faults.append(str(error))
            self.at = 0
            self.rounds += 1

    @property
    def at(self) -> int:
        place = self._at
        self._at += MIB
        return place

    @at.setter
    def at(self, place: int) -> None:
        self._at = place

    _at = 0

    def until_read(self, more: int = 2) -> None:
        rounds = self.rounds
        wait_until(lambda: self.rounds >= rounds + more)

    def end(self) -> None:
        self._told.set()
        self.join(60)
        self._file.close()


@pytest.fixture
def reader(pods: Pods) -> Iterator[Reader]:
    """Of a volume that one client serves."""
    (pods.site.data / "large").write_bytes(os.urandom(4 * MIB))
    pods.container("first")
    target = pods.site.target("pod-1")
    pods.site.publish(target)
    reading = Reader(target / "large")
    reading.start()
    yield reading
    reading.end()


def test_a_client_without_rights_serves(pods: Pods) -> None:
    (pods.site.data / "file").write_text("text")
    container = pods.container("first")
    target = pods.site.target("pod-1")
    pods.site.publish(target)
    assert (target / "file").read_text() == "text"
    (target / "new").write_text("of the pod")
    assert (pods.site.data / "new").read_text() == "of the pod"
    assert (pods.site.data / "new").stat().st_uid == USER
    status = dict(line.split(":\t", 1) for line in Path(f"/proc/{container.client}/status").read_text().splitlines())
    assert {status[name] for name in ("CapEff", "CapPrm", "CapBnd")} == {"0" * 16}
    assert status["Uid"].split() == [str(USER)] * 4
    (told,) = pods.folder.glob("*.json")
    assert (told.stat().st_uid, stat.S_IMODE(told.stat().st_mode)) == (USER, 0o400)
    pods.site.unpublish(target)
    wait_until(lambda: container.ended == 0)
    assert list(pods.folder.glob("*.json")) == []
    assert list(pods.states.iterdir()) == []
    assert list(pods.site.mounts.iterdir()) == []


def test_another_follows_at_once_where_a_client_is_killed(pods: Pods, reader: Reader) -> None:
    (container,) = pods.containers
    for _ in range(5):
        reader.until_read()
        before = container.client
        container.kill_client()
        wait_until(lambda before=before: container.client not in (0, before))  # type: ignore[misc]
    reader.until_read()
    assert reader.faults == []


def test_a_client_that_waits_takes_over_from_a_container_that_was_killed(pods: Pods, reader: Reader) -> None:
    for number in range(3):
        spare = pods.container(f"spare-{number}")
        reader.until_read()
        pods.containers[-2].kill()
        pods.until_serving(spare)
        reader.until_read()
    assert reader.faults == []


def test_a_client_that_is_told_to_go_waits_for_its_successor(pods: Pods, reader: Reader) -> None:
    (container,) = pods.containers
    container.tell_to_go()
    reader.until_read()
    assert container.ended is None
    successor = pods.container("successor")
    wait_until(lambda: container.ended == 0)
    reader.until_read()
    assert successor.ended is None
    assert reader.faults == []


def test_a_client_without_a_mount_goes_at_once(pods: Pods) -> None:
    container = pods.container("idle")
    wait_until(lambda: container.first != 0 and b"stand-by" in Path(f"/proc/{container.first}/cmdline").read_bytes())
    wait_until(lambda: signal.SIGTERM in caught(container.first))
    container.tell_to_go()
    wait_until(lambda: container.ended == 0)


def test_a_mount_goes_on_while_who_supervises_and_who_keeps_it_are_killed(pods: Pods, reader: Reader) -> None:
    (container,) = pods.containers
    client = container.client
    for _ in range(3):
        pods.site.kill("holder")
        reader.until_read()
        pods.site.start("holder")
        (keeper,) = pods.keepers()
        os.kill(keeper, signal.SIGKILL)
        reader.until_read()
        wait_until(lambda keeper=keeper: pods.keepers() not in ([], [keeper]))  # type: ignore[misc]
    assert container.client == client
    assert reader.faults == []
    pods.site.publish(pods.site.target("pod-2"))
    assert container.client == client


def test_files_can_be_opened_while_nobody_keeps_the_mount(pods: Pods) -> None:
    """Nobody registers them with the kernel then."""
    pods.container("first")
    target = pods.site.target("pod-1")
    for name in ("small", "large"):
        (pods.site.data / name).write_bytes(os.urandom(MIB))
    pods.site.publish(target)
    assert (target / "small").read_bytes() == (pods.site.data / "small").read_bytes()
    pods.site.kill("holder")
    (keeper,) = pods.keepers()
    os.kill(keeper, signal.SIGKILL)
    wait_until(lambda: pods.keepers() == [])
    for name in ("small", "large"):
        assert (target / name).read_bytes() == (pods.site.data / name).read_bytes()
    pods.site.start("holder")
    pods.site.unpublish(target)


def test_without_a_client_the_kubelet_asks_again() -> None:
    with new_pods(PF_CSI_HOLDER_READY_SECONDS="1") as pods:
        target = pods.site.target("pod-1")
        code, text = refused(pods.site.publish, target)
        assert code is grpc.StatusCode.ABORTED, text
        pods.until_serving(pods.container("late"))
        pods.site.publish(target)
        pods.site.unpublish(target)


def test_each_mount_has_a_client_of_its_own(pods: Pods) -> None:
    containers = [pods.container(f"client-{number}") for number in range(2)]
    targets = [pods.site.target(f"pod-{number}") for number in range(2)]
    for number, target in enumerate(targets):
        pods.site.publish(target, f"vol-{number}")
    assert all(container.client for container in containers)
    pods.site.unpublish(targets[0], "vol-0")
    wait_until(lambda: sorted(container.ended is None for container in containers) == [False, True])
    assert list(targets[1].iterdir()) == []


def test_another_user_is_turned_away(pods: Pods) -> None:
    """The folder can be entered, and the door is shut."""
    container = pods.container("stranger", user=USER - 1)
    wait_until(lambda: container.first != 0 and signal.SIGTERM in caught(container.first))
    target = pods.site.target("pod-1")
    own = pods.container("own")
    pods.site.publish(target)
    assert own.client
    assert not container.client
    (told,) = pods.folder.glob("*.json")
    looking = subprocess.run(["setpriv", f"--reuid={USER - 1}", "--clear-groups", "cat", told], capture_output=True)
    assert (looking.returncode, looking.stdout) == (1, b"")


def caught(process: int) -> set[int]:
    """Signals that a process does not end by."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    mask = int(next(line.split()[1] for line in lines if line.startswith("SigCgt")), 16)
    return {number for number in range(1, 65) if mask >> (number - 1) & 1}


def test_nothing_is_left_of_files_that_were_written_while_clients_were_killed(pods: Pods) -> None:
    container = pods.container("first")
    target = pods.site.target("pod-1")
    pods.site.publish(target)
    with (target / "file").open("w") as file:
        for word in ("first ", "second ", "third "):
            file.write(word)
            file.flush()
            before = container.client
            container.kill_client()
            wait_until(lambda before=before: container.client not in (0, before))  # type: ignore[misc]
    pods.site.unpublish(target)
    wait_until(lambda: container.ended == 0)
    assert (pods.site.data / "file").read_text() == "first second third "
    wait_until(lambda: list(pods.states.iterdir()) == [])
