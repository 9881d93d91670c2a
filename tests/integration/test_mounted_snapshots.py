"""Datasets that are mounted as they were when a snapshot was taken."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from paddleflow.mounting import CannotMount, MountOptions, run_errand
from support import fuse_mounts
from support.mounts import Mount, new_mount

pytestmark = pytest.mark.skipif(bool(fuse_mounts.missing()), reason=fuse_mounts.missing())


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The files of a dataset, which lie in a folder of this machine."""
    folder = tmp_path / "data"
    (folder / "train" / "deep").mkdir(parents=True)
    (folder / "empty").mkdir()
    for number in range(1200):
        (folder / "train" / f"{number:04}").write_text(f"sample {number}")
    (folder / "train" / "deep" / "ü").write_text("below")
    (folder / "link").symlink_to("train/0001")
    return folder


@pytest.fixture
def mount() -> Iterator[Mount]:
    with new_mount() as made:
        yield made


def take(data: Path, to: str) -> dict[str, object]:
    source = {"url": f"local://{data}", "cache": {"folders": []}}
    *_, last = run_errand("snapshot", {"source": source, "to": to})
    return dict(last)


def looked(place: Path) -> set[tuple[object, ...]]:
    """What is told of all things."""
    found = set[tuple[object, ...]]()
    for path in place.rglob("*"):
        told = path.lstat()
        size = 0 if path.is_dir() else told.st_size
        found.add((str(path.relative_to(place)), told.st_mode, told.st_uid, size, told.st_mtime_ns))
    return found


def failing(path: Path) -> int | None:
    with pytest.raises(OSError, match="Errno") as failed:
        path.read_bytes()
    return failed.value.errno


def test_it_is_as_it_was_and_what_is_stale_is_never_read(data: Path, mount: Mount, tmp_path: Path) -> None:
    to = tmp_path / "data.parquet"
    assert take(data, str(to)) == {"over": True, "files": 1202, "folders": 4, "bytes": 12105}
    before = looked(data)
    mount.begin(f"local://{data}", {}, MountOptions(dataset=True, snapshot=str(to)))
    train = data / "train"
    (train / "0000").unlink()
    (train / "0002").write_text("SAMPLE 2")
    (train / "new").write_text("nobody sees it")
    os.rename(train / "0003", train / "0004")  # noqa: PTH104 -- replaces it
    assert not looked(mount.place) ^ before
    assert (mount.place / "train/0001").read_text() == (mount.place / "link").read_text() == "sample 1"
    assert (mount.place / "train/deep/ü").read_text() == "below"
    assert failing(mount.place / "train/0002") == errno.ESTALE
    assert failing(mount.place / "train/0004") == errno.ESTALE
    assert failing(mount.place / "train/0000") in (errno.ESTALE, errno.ENOENT)
    assert not (mount.place / "train/new").exists()
    mount.kill()
    assert not looked(mount.place) ^ before
    with pytest.raises(OSError, match="Read-only"):
        (mount.place / "made").touch()


def test_it_may_lie_beside_what_it_tells_of(data: Path, mount: Mount) -> None:
    before = looked(data)
    take(data, ":.snapshot")
    mount.begin(f"local://{data}", {}, MountOptions(dataset=True, snapshot=":.snapshot"))
    assert not looked(mount.place) ^ before
    assert not (mount.place / ".snapshot").exists()


def test_who_serves_the_mount_reads_no_parquet(data: Path, mount: Mount, tmp_path: Path) -> None:
    take(data, str(tmp_path / "s"))
    mount.begin(f"local://{data}", {}, MountOptions(dataset=True, snapshot=str(tmp_path / "s")))
    looked(mount.place)
    maps = Path(f"/proc/{mount.server()}/maps").read_text()
    assert "arrow" not in maps
    assert str(mount.home) in maps


def test_what_is_no_snapshot_is_not_mounted(data: Path, mount: Mount, tmp_path: Path) -> None:
    (tmp_path / "other").write_text("nothing")
    with pytest.raises(CannotMount, match="other cannot be read"):
        mount.begin(f"local://{data}", {}, MountOptions(dataset=True, snapshot=str(tmp_path / "other")))
    with pytest.raises(CannotMount, match="only a dataset"):
        mount.begin(f"local://{data}", {}, MountOptions(snapshot=str(tmp_path / "other")))
