"""The control groups below which everything of a cluster's pods runs."""

from __future__ import annotations

import errno
from pathlib import Path

from support.waiting import wait_until

ROOT = Path("/sys/fs/cgroup")


def make(name: str) -> None:
    for hierarchy in hierarchies():
        (hierarchy / name).mkdir(exist_ok=True)
    if unified(ROOT):
        delegate(ROOT / name)


def remove(name: str) -> None:
    """With all below it; who lived there is dead, but may still be on the way out."""
    wait_until(lambda: all(removed(hierarchy / name) for hierarchy in hierarchies()), patience=60.0, pause=0.05)


def removed(group: Path) -> bool:
    if not group.exists():
        return True
    below = [path for path in group.iterdir() if path.is_dir()]
    if not all(removed(path) for path in below):
        return False
    try:
        group.rmdir()
    except OSError as error:
        if error.errno not in {errno.EBUSY, errno.ENOENT}:
            raise
    return not group.exists()


def hierarchies() -> list[Path]:
    """One of the second version of control groups, several of the first."""
    if unified(ROOT):
        return [ROOT]
    return [path for path in ROOT.iterdir() if path.is_dir() and not path.is_symlink()]


def unified(folder: Path) -> bool:
    return (folder / "cgroup.controllers").exists()


def delegate(group: Path) -> None:
    """The kubelet wants every controller that there is."""
    controllers = (group / "cgroup.controllers").read_text().split()
    (group / "cgroup.subtree_control").write_text(" ".join(f"+{each}" for each in controllers))
