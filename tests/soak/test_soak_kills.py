"""Clients are killed again and again, and nobody who uses the mount notices more than a pause."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from support.mounts import Mount, new_mount
from support.soaking import Where, sized, told
from support.stacks import wait_until

pytestmark = [pytest.mark.soak, pytest.mark.timeout(3600)]
KILLS = sized(100, 3)
STALL = 1.5
"""Seconds of the longest pause but one in a hundred."""
SETTLED = 3.0
"""Seconds after which the next one is started at once; one that dies young is not started again and again."""
MIB = 1 << 20


class Users:
    """Who reads and writes until it is over."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.data = os.urandom(32 * MIB)
        (place / "read").write_bytes(self.data)
        self.over = threading.Event()
        self.wrong: list[str] = []
        self.pauses: list[float] = []
        self.rounds = 0

    def read(self) -> None:
        """Pieces of a file that stays open, and of one that is opened anew."""
        with (self.place / "read").open("rb", buffering=0) as held:
            at = 0
            while not self.over.is_set():
                at = (at + 37 * 4096) % (len(self.data) - 4096)
                self.timed(lambda at=at: self.same(os.pread(held.fileno(), 4096, at), at))  # type: ignore[misc]
                if not self.rounds % 7:
                    self.timed(lambda: self.same((self.place / "read").read_bytes(), 0))

    def write(self) -> None:
        """Files that are written, synced, renamed, read again and removed."""
        while not self.over.is_set():
            self.rounds += 1
            piece = os.urandom(50_000 + self.rounds % 1000)
            path = self.place / f"written-{self.rounds % 50}"
            with path.open("wb") as file:
                file.write(piece[:30_000])
                file.flush()
                os.fsync(file.fileno())
                file.write(piece[30_000:])
            path.rename(path.with_suffix(".new"))
            found = path.with_suffix(".new").read_bytes()
            if found != piece:
                self.wrong.append(f"{path} has not what was written: {how_it_differs(piece, found)}")
            if self.rounds % 3 == 0:
                path.with_suffix(".new").unlink()

    def going_on(self) -> Callable[[], bool]:
        """Says if they wrote on since, and the client lives long enough, or if it is over with them."""
        before, settled = self.rounds, time.monotonic() + SETTLED
        return lambda: bool(self.wrong) or (self.rounds > before + 1 and time.monotonic() > settled)

    def same(self, found: bytes, at: int) -> None:
        if found != self.data[at : at + len(found)] or not found:
            self.wrong.append(f"other bytes at {at}")

    def timed(self, work: Callable[[], None]) -> None:
        begun = time.monotonic()
        work()
        self.pauses.append(time.monotonic() - begun)

    def watched(self, work: Callable[[], None]) -> None:
        try:
            work()
        except OSError as error:
            self.wrong.append(repr(error))


def how_it_differs(piece: bytes, found: bytes) -> str:
    same = next((at for at, (one, other) in enumerate(zip(piece, found, strict=False)) if one != other), None)
    return f"{len(found)} bytes instead of {len(piece)}, of which the first {same or 'all'} are the same"


def test_a_hundred_kills_are_noticed_by_nobody(soaked: Mount, kind: str, tmp_path: Path) -> None:
    users = Users(soaked.place)
    workers = [threading.Thread(target=users.watched, args=(each,)) for each in (users.read, users.write)]
    job = ["fio", "--name=verified", f"--directory={soaked.place}", "--rw=randrw", "--bs=4k-64k", "--bsrange=4k-64k"]
    job += ["--size=16m", "--ioengine=psync", "--verify=crc32c", "--verify_fatal=1", "--time_based", "--runtime=3000"]
    fio = subprocess.Popen(job, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for worker in workers:
        worker.start()
    stalls = []
    try:
        for _ in range(KILLS):
            seen = len(users.pauses)
            went_on = users.going_on()
            soaked.kill()
            wait_until(went_on)
            stalls.append(max(users.pauses[seen:], default=0.0))
            assert fio.poll() is None, fio.communicate()[0]
            if users.wrong:
                break
    finally:
        users.over.set()
        fio.terminate()
        said = fio.communicate()[0]
        for worker in workers:
            worker.join()
    stalls.sort()
    median, most_of_all, most = stalls[len(stalls) // 2], stalls[max(0, len(stalls) * 99 // 100 - 1)], stalls[-1]
    told(
        f"{len(stalls)} kills on {kind}: {users.rounds} files written, the longest pause of each: "
        f"median {median:.2f} s, p99 {most_of_all:.2f} s, most {most:.2f} s"
    )
    assert not users.wrong
    assert "verify: bad" not in said, said
    assert most_of_all <= STALL


def test_nothing_that_was_synced_is_lost_with_the_machine(soaked: Mount, where: Where) -> None:
    """What the machine had on its disks is lost, all of it; what was synced is where it belongs."""
    synced = {}
    for number in range(40):
        data = os.urandom(1000 * (number + 1))
        with (soaked.place / f"{number}").open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            synced[f"{number}"] = data
            file.write(b"what is not synced")
            if number % 4 == 0:
                soaked.kill()
    soaked.lose_power()
    with new_mount() as after:
        after.begin(*where)
        for name, data in synced.items():
            assert (after.place / name).read_bytes()[: len(data)] == data
