"""Real programs on a mount of an object store, as its users make it."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sqlite3
import subprocess
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest

from paddleflow.mounted import NotMounted
from paddleflow.mounting import CannotMount, MountOptions
from pf_backends.opening import open_backend
from support import fuse_mounts
from support.fuse_mounts import detach
from support.mounts import Mount, new_mount, parent_of
from support.s3_servers import KEYS, S3Server, place_in
from support.stacks import wait_until
from support.walking import contents

pytestmark = pytest.mark.skipif(bool(fuse_mounts.missing()), reason=fuse_mounts.missing())
MIB = 1 << 20


@pytest.fixture
def mount(seaweed_server: S3Server, tmp_path: Path) -> Iterator[Mount]:
    with new_mount() as made:
        made.begin(*place_in(seaweed_server, f"mounted-{tmp_path.name}"))
        yield made


@pytest.fixture
def place(mount: Mount) -> Path:
    return mount.place


def run(*command: str, cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120)
    assert not done.returncode, done.stderr
    return done.stdout


def test_git_and_sqlite_and_tar_find_what_they_left(place: Path, tmp_path: Path) -> None:
    repository = place / "repository"
    run("git", "init", "-q", str(repository), cwd=place)
    for number in range(20):
        (repository / f"file-{number}").write_text(f"{number}\n" * 1000)
    run("git", "add", ".", cwd=repository)
    run("git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "all", cwd=repository)
    run("git", "clone", "-q", "--no-hardlinks", str(repository), str(place / "clone"), cwd=place)
    run("git", "fsck", "--strict", cwd=place / "clone")
    assert not run("git", "status", "--porcelain", cwd=place / "clone")
    database = sqlite3.connect(place / "rows.db")
    database.execute("create table rows (number integer, text text)")
    for batch in range(5):
        database.executemany("insert into rows values (?, ?)", [(batch, str(each)) for each in range(200)])
        database.commit()
    assert database.execute("pragma integrity_check").fetchone() == ("ok",)
    database.close()
    run("tar", "cf", str(place / "all.tar"), "clone", cwd=place)
    run("tar", "xf", str(place / "all.tar"), cwd=tmp_path)
    run("diff", "-r", str(tmp_path / "clone"), str(place / "clone"), cwd=place)


def test_another_machine_sees_what_was_closed(mount: Mount, seaweed_server: S3Server, tmp_path: Path) -> None:
    data = os.urandom(20 * MIB)
    (mount.place / "d").mkdir()
    (mount.place / "d" / "large").write_bytes(data)
    (mount.place / "d" / "small").write_bytes(b"small")
    with new_mount() as other:
        other.begin(*place_in(seaweed_server, f"mounted-{tmp_path.name}"))
        assert (other.place / "d" / "large").read_bytes() == data
        (other.place / "d" / "small").rename(other.place / "d" / "renamed")
        (other.place / "d" / "renamed").write_bytes(b"changed")
        other.end()
    assert (mount.place / "d" / "renamed").read_bytes() == b"changed"


def test_what_was_read_once_is_read_by_the_kernel_itself(
    mount: Mount, seaweed_server: S3Server, tmp_path: Path
) -> None:
    data = os.urandom(4 * MIB)
    # What is written by the mount is at hand from the first.
    with closing(open_backend(*place_in(seaweed_server, f"mounted-{tmp_path.name}"))) as backend:
        backend.put("f", data)
    assert (mount.place / "f").read_bytes() == data
    if not mount.stats()["passthrough"]:
        pytest.skip("this kernel reads nothing by itself")

    def reads() -> int:
        assert (mount.place / "f").read_bytes() == data
        count: int = mount.stats()["requests"]["read"]["count"]
        return count

    wait_until(lambda: reads() == reads() == reads())


class Work:
    """Somebody who reads, and somebody who writes, until it is over; what was wrong."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.data = os.urandom(8 * MIB)
        (place / "read").write_bytes(self.data)
        self.over = threading.Event()
        self.wrong: list[str] = []
        self.rounds = 0

    def read(self) -> None:
        digest, at = hashlib.sha256(self.data).digest(), 5 * MIB
        with (self.place / "read").open("rb", buffering=0) as held:
            while not self.over.is_set():
                self.see("what was read anew", hashlib.sha256((self.place / "read").read_bytes()).digest() == digest)
                self.see("what was open", os.pread(held.fileno(), 4096, at) == self.data[at : at + 4096])

    def write(self) -> None:
        while not self.over.is_set():
            self.rounds += 1
            piece = os.urandom(100_000)
            path = self.place / f"written-{self.rounds % 5}"
            path.write_bytes(piece)
            path.rename(path.with_suffix(".new"))
            self.see("what was written", path.with_suffix(".new").read_bytes() == piece)

    def see(self, what: str, right: bool) -> None:
        if not right:
            self.wrong.append(what)

    def watched(self, work: Callable[[], None]) -> None:
        try:
            work()
        except OSError as error:
            self.wrong.append(repr(error))


@pytest.mark.timeout(180)
def test_kills_are_noticed_by_nobody_who_reads_and_writes(mount: Mount) -> None:
    work = Work(mount.place)
    workers = [threading.Thread(target=work.watched, args=(each,)) for each in (work.read, work.write)]
    for worker in workers:
        worker.start()
    for _ in range(5):
        before = work.rounds
        mount.kill()
        wait_until(lambda before=before: work.rounds > before + 2 or bool(work.wrong))  # type: ignore[misc]
    work.over.set()
    for worker in workers:
        worker.join()
    assert not work.wrong


def plain_read(path: Path) -> bytes:
    """Without asking whether it is a terminal, as Python's own files do."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return os.read(descriptor, MIB)
    finally:
        os.close(descriptor)


def test_who_goes_through_a_dataset_again_asks_for_nothing(
    mount: Mount, seaweed_server: S3Server, tmp_path: Path
) -> None:
    (mount.place / "d").mkdir()
    for number in range(300):
        (mount.place / "d" / f"{number}").write_bytes(str(number).encode() * 100)
    url, properties = place_in(seaweed_server, f"mounted-{tmp_path.name}")
    with new_mount() as dataset:
        dataset.begin(url, properties, MountOptions(dataset=True))

        def epoch() -> Counter[str]:
            for number in range(300):
                assert plain_read(dataset.place / "d" / f"{number}") == str(number).encode() * 100
            return Counter({name: each["count"] for name, each in dataset.stats()["requests"].items()})

        seen = [epoch() for _ in range(4)]
        asked = [after - before for before, after in pairwise(seen)]
        # The kernel may let go of something once, on a machine that has little memory left.
        assert min(each.total() for each in asked) < 10, asked
        with pytest.raises(OSError, match="Read-only"):
            (dataset.place / "d" / "new").write_bytes(b"")
        dataset.kill()
        epoch()


def test_what_was_only_looked_at_in_a_dataset_is_read_right_by_the_next_process(
    mount: Mount, seaweed_server: S3Server, tmp_path: Path
) -> None:
    (mount.place / "d").mkdir()
    for number in range(20):
        (mount.place / "d" / f"{number}").write_bytes(str(number).encode() * 100)
    with new_mount() as dataset:
        dataset.begin(*place_in(seaweed_server, f"mounted-{tmp_path.name}"), MountOptions(dataset=True))
        assert all(file.stat().st_size for file in (dataset.place / "d").iterdir())
        plain_read(dataset.place / "d" / "0")
        dataset.kill()
        for number in range(20):
            assert plain_read(dataset.place / "d" / f"{number}") == str(number).encode() * 100


def test_a_mount_made_anew_knows_nothing_of_what_the_kernel_read_by_itself_before(
    mount: Mount, seaweed_server: S3Server, tmp_path: Path
) -> None:
    for name in ("a", "b"):
        (mount.place / name).write_bytes(name.encode() * 1000)
        assert (mount.place / name).read_bytes() == name.encode() * 1000
    holder = parent_of(mount.server())
    os.kill(holder, signal.SIGSTOP)
    os.kill(mount.server(), signal.SIGKILL)
    os.kill(holder, signal.SIGKILL)
    detach(mount.place)
    mount.begin(*place_in(seaweed_server, f"mounted-{tmp_path.name}"))
    for name in ("b", "a"):
        assert (mount.place / name).read_bytes() == name.encode() * 1000


def test_secrets_stand_nowhere(mount: Mount) -> None:
    (mount.place / "f").write_bytes(b"x")
    pid = mount.server()
    shown = [json.dumps(mount.stats()).encode(), mount.log.encode()]
    shown += [
        Path(f"/proc/{each}/{what}").read_bytes() for each in (pid, parent_of(pid)) for what in ("cmdline", "environ")
    ]
    shown += [content for _, content in contents(mount.home)]
    assert not any(KEYS.secret.encode() in text for text in shown)


def test_unmounting_waits_for_what_was_written(mount: Mount, seaweed_server: S3Server, tmp_path: Path) -> None:
    with (mount.place / "f").open("wb") as file:
        file.write(b"x" * MIB)
    mount.end()
    with pytest.raises(NotMounted):
        mount.stats()
    assert not list(mount.place.iterdir())


def test_what_is_wrong_is_said_before_anything_is_mounted(seaweed_server: S3Server) -> None:
    url, properties = place_in(seaweed_server, "")
    with new_mount() as made:
        with pytest.raises(CannotMount, match="secretKey"):
            made.begin(url, {"endpoint": properties["endpoint"], "accessKey": "me"})
        with pytest.raises(CannotMount, match=r"(?i)signature|denied|secret|key"):
            made.begin(url, properties | {"secretKey": "wrong"})
        with pytest.raises(CannotMount, match=r"(?i)bucket"):
            made.begin("s3://not-there", properties)


def test_a_name_that_the_store_cannot_have_is_refused_at_once(mount: Mount) -> None:
    with pytest.raises(OSError, match="Invalid or incomplete"):
        os.open(os.fsencode(mount.place) + b"/\xff", os.O_CREAT | os.O_WRONLY)
    assert not any(mount.place.iterdir())
