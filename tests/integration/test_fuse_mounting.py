"""How a mount begins and ends, and what is said if it cannot."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from fixtures_fuse import MirrorMounts
from paddleflow.mountinfo import KIND, read_mounts
from pf_fuse.kernel import mounting
from pf_fuse.kernel.features import USUAL, TooOld
from pf_fuse.kernel.fusermount import HelperFailed, mount_by_helper, unmount_by_helper
from pf_fuse.kernel.mounting import (
    CannotMount,
    MountOptions,
    begin_mount,
    close_mount,
    read_ahead_of,
    ready_place,
)
from support.fuse_mounts import MirrorMount, detach, missing
from support.waiting import until

STAND_IN = """#!{python}
import os, socket, sys
sys.path[:0] = {path}
from pf_fuse.kernel import libc
from pf_fuse.kernel.libc import Mounting, Unmounting
if "-u" in sys.argv:
    libc.unmount(sys.argv[-1], Unmounting.DETACH if "-z" in sys.argv else Unmounting.PLAIN)
    sys.exit()
if "refuse" in sys.argv[-1]:
    sys.exit("fusermount3: not with me")
device = os.open("/dev/fuse", os.O_RDWR)
libc.mount("test", sys.argv[-1], "fuse.test", Mounting.NONE, f"fd={{device}},rootmode=40000,user_id=0,group_id=0")
open(__file__ + ".said", "w").write(sys.argv[sys.argv.index("-o") + 1])
given = socket.socket(fileno=int(os.environ["_FUSE_COMMFD"]))
socket.send_fds(given, [b"x"], [device])
"""
"""Where fuse3 is not installed it does what the program of that name does, with the rights of the test."""


@pytest.fixture(autouse=True)
def _possible() -> None:
    if missing():
        pytest.skip(missing())


def test_the_kernel_lists_what_is_mounted(mirror_mounts: MirrorMounts, tmp_path: Path) -> None:
    place = tmp_path / "a place with blanks"
    mount = mirror_mounts(place, options={"source": "s3://bucket/a,b"})
    found = read_mounts().top(str(place))
    assert found is not None
    assert (found.kind, found.source) == (KIND, "s3://bucket/a,b")
    line = next(line for line in Path("/proc/mounts").read_text().splitlines() if "blanks" in line)
    assert {"rw", "nosuid", "nodev", "default_permissions", "allow_other"} <= set(line.split()[3].split(","))
    assert mount.end() == ""
    assert read_mounts().top(str(place)) is None


def test_requests_are_as_large_as_what_is_read_ahead(mirror_mounts: MirrorMounts) -> None:
    mount = mirror_mounts()
    if not os.access("/sys/class/bdi", os.W_OK):
        pytest.skip("/sys cannot be written")
    assert read_ahead_of(str(mount.place)) == 1024
    (mount.root / "file").write_bytes(bytes(16 << 20))
    assert len((mount.place / "file").read_bytes()) == 16 << 20
    assert mount.count("read") <= 20


def test_a_mount_can_be_for_reading_only(mirror_mounts: MirrorMounts) -> None:
    mount = mirror_mounts(options={"read_only": True})
    (mount.root / "file").write_text("text")
    assert (mount.place / "file").read_text() == "text"
    with pytest.raises(OSError, match="Read-only"):
        (mount.place / "file").write_text("other")


def test_a_mount_in_use_is_not_unmounted(mirror_mounts: MirrorMounts) -> None:
    mount = mirror_mounts()
    (mount.root / "file").write_text("text")
    with (mount.place / "file").open() as file:
        with pytest.raises(OSError, match="busy") as refused:
            close_mount(mount.place)
        assert refused.value.errno == errno.EBUSY
        close_mount(mount.place, detach=True)
        assert read_mounts().top(str(mount.place)) is None
        assert mount.process.poll() is None
        assert file.read() == "text"
    assert mount.process.wait(5) == 0


def test_the_process_ends_with_the_mount_whatever_is_asked(mirror_mounts: MirrorMounts) -> None:
    mount = mirror_mounts()
    (mount.root / "never").write_bytes(bytes(5000))
    command = [sys.executable, "-c", f"open({str(mount.place / 'never')!r}, 'rb').read()"]
    reader = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    while mount.statistics()["waiting"] == 0:
        assert reader.poll() is None
    close_mount(mount.place, detach=True)
    reader.kill()
    reader.wait()
    assert mount.process.wait(5) == 0


async def test_the_mount_of_a_killed_process_says_so_and_is_replaced(
    mirror_mounts: MirrorMounts, tmp_path: Path
) -> None:
    mount = mirror_mounts(tmp_path / "place")
    (mount.root / "file").write_text("text")
    mount.kill()
    with pytest.raises(OSError, match="endpoint") as refused:
        (mount.place / "file").stat()
    assert refused.value.errno == errno.ENOTCONN
    again = mirror_mounts(tmp_path / "place")
    await until(lambda: os.listdir(again.place) == [])


@pytest.mark.parametrize(
    ("prepare", "number", "says"),
    [
        pytest.param(lambda place: None, errno.ENOENT, "make the folder", id="missing"),
        pytest.param(lambda place: place.symlink_to("place"), errno.ELOOP, "too many links", id="in a circle"),
        pytest.param(lambda place: place.write_text("x"), errno.ENOTDIR, "this is no folder", id="a file"),
        pytest.param(lambda place: (place / "x").mkdir(parents=True), errno.ENOTEMPTY, "not empty", id="not empty"),
    ],
)
def test_a_place_that_will_not_do_is_refused(tmp_path: Path, prepare: object, number: int, says: str) -> None:
    assert callable(prepare)
    prepare(tmp_path / "place")
    with pytest.raises(CannotMount, match=says) as refused:
        ready_place(tmp_path / "place", MountOptions())
    assert refused.value.errno == number


def test_files_are_hidden_if_that_is_asked_for(mirror_mounts: MirrorMounts, tmp_path: Path) -> None:
    (tmp_path / "place").mkdir()
    (tmp_path / "place" / "hidden").touch()
    mount = mirror_mounts(tmp_path / "place", options={"over_files": True})
    assert os.listdir(mount.place) == []
    assert mount.end() == ""
    assert os.listdir(mount.place) == ["hidden"]


def test_nothing_is_mounted_twice(mirror_mounts: MirrorMounts) -> None:
    mount = mirror_mounts()
    with pytest.raises(CannotMount, match="mounted here already") as refused:
        ready_place(mount.place, MountOptions())
    assert refused.value.errno == errno.EBUSY


def test_a_mount_that_does_not_answer_is_not_waited_for(
    mirror_mounts: MirrorMounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mounting, "ANSWERS_WITHIN", 0.5)
    mount = mirror_mounts()
    mount.process.send_signal(signal.SIGSTOP)
    try:
        with pytest.raises(CannotMount, match="does not answer") as refused:
            ready_place(mount.place, MountOptions())
        assert refused.value.errno == errno.EBUSY
    finally:
        mount.process.send_signal(signal.SIGCONT)


def test_a_kernel_that_is_too_old_leaves_no_mount(tmp_path: Path) -> None:
    (tmp_path / "place").mkdir()
    with pytest.raises(TooOld, match=r"7\.27"):
        begin_mount(tmp_path / "place", MountOptions(), USUAL, 27)
    assert read_mounts().top(str(tmp_path / "place")) is None


def test_a_link_to_a_folder_is_mounted_at_what_it_leads_to(mirror_mounts: MirrorMounts, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    mount = mirror_mounts(tmp_path / "link")
    assert read_mounts().top(str(tmp_path / "real")) is not None
    close_mount(tmp_path / "real")
    assert mount.process.wait(5) == 0


@pytest.fixture
def helper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    program = tmp_path / "bin" / "fusermount3"
    program.parent.mkdir()
    program.write_text(STAND_IN.format(python=sys.executable, path=sys.path))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    return program


def test_whoever_is_not_root_is_helped(helper: Path, tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    device = mount_by_helper(str(place), ["ro", "fsname=x"])
    try:
        assert stat.S_ISCHR(os.fstat(device).st_mode)
        assert not os.get_inheritable(device)
        assert read_mounts().top(str(place)) is not None
        assert Path(f"{helper}.said").read_text() == "ro,fsname=x"
        unmount_by_helper(str(place), detach=False)
        assert read_mounts().top(str(place)) is None
    finally:
        detach(place)
        os.close(device)


def test_what_the_helper_says_is_told(helper: Path, tmp_path: Path) -> None:
    with pytest.raises(HelperFailed, match="not with me"):
        mount_by_helper(str(tmp_path / "refuse"), [])


def test_without_the_helper_the_user_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HelperFailed, match="install the package fuse3"):
        mount_by_helper(str(tmp_path), [])


def test_a_refused_mount_leaves_nothing_open(mirror_mounts: MirrorMounts) -> None:
    mount: MirrorMount = mirror_mounts()
    before = os.listdir("/proc/self/fd")
    with pytest.raises(CannotMount):
        ready_place(mount.place, MountOptions())
    assert len(os.listdir("/proc/self/fd")) == len(before)
