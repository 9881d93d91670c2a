"""Files are removed, and nothing else is."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from threading import Event, Thread

import pytest

from paddleflow.problems import FileUnusable, FolderNotAllowed, PathEscapes
from pf_fs.files.budget import Budget, Spent
from pf_fs.files.domain import MOST_LEVELS
from pf_fs.files.removing import AT_ONCE, remove
from support.folders_beneath import handles, nobody, opened


@pytest.fixture
def base(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "keep").mkdir()
    (tmp_path / "keep" / "file").write_text("kept")
    (tmp_path / "base").mkdir()
    before = handles()
    yield tmp_path / "base"
    # Those of tests before may be closed meanwhile.
    assert handles() <= before
    assert (tmp_path / "keep" / "file").read_text() == "kept"


def removed(base: Path, path: str, budget: Budget | None = None) -> None:
    with opened(base) as handle:
        remove(handle, PurePosixPath(path), budget or Budget(60, lambda: 0))


def left(base: Path) -> set[str]:
    return {each.name for each in base.iterdir()}


def test_all_kinds_of_things_are_removed(base: Path) -> None:
    (base / "tree" / "sub").mkdir(parents=True)
    (base / "tree" / "sub" / "file").write_text("x")
    (base / "tree" / "sub" / "file").chmod(0)
    (base / "tree" / "out").symlink_to("../../keep")
    (base / "tree" / "gone").symlink_to("nothing")
    os.mkfifo(base / "tree" / "pipe")
    os.link(base.with_name("keep") / "file", base / "tree" / "hard")
    Path(os.fsdecode(os.fsencode(base / "tree") + b"/\xff\n")).write_text("x")
    (base / "other").write_text("stays")
    removed(base, "tree")
    assert left(base) == {"other"}


def test_links_are_removed_as_such(base: Path) -> None:
    (base / "link").symlink_to("../keep")
    removed(base, "link")
    assert left(base) == set()


def test_nothing_outside_is_removed(base: Path) -> None:
    (base / "link").symlink_to("../keep")
    with pytest.raises(PathEscapes):
        removed(base, "link/file")


@pytest.mark.parametrize("path", [".ssh", "inner/.kube", ".ssh/id"])
def test_secrets_are_not_removed(base: Path, path: str) -> None:
    (base / path).mkdir(parents=True)
    with pytest.raises(FolderNotAllowed):
        removed(base, path)
    assert (base / path).exists()


@pytest.mark.parametrize("path", ["nothing", "nothing/at/all"])
def test_what_is_not_there_need_not_be_removed(base: Path, path: str) -> None:
    removed(base, path)


def test_many_and_deep_things_are_removed(base: Path) -> None:
    (base / "many").mkdir()
    for number in range(AT_ONCE + 10):
        (base / "many" / str(number)).touch()
    deep = base / "many" / "/".join(["d"] * (3 * MOST_LEVELS))
    deep.mkdir(parents=True)
    (deep / "file").touch()
    removed(base, "many")
    assert left(base) == set()


def test_the_next_call_goes_on(base: Path) -> None:
    (base / "many").mkdir()
    for number in range(100):
        (base / "many" / str(number)).touch()
    sizes = []
    while (base / "many").exists():
        times = iter([0.0] * 31)
        try:
            budget = Budget(1, lambda times=times: next(times, 2.0))  # type: ignore[misc]  # binds it
            budget.begin()
            removed(base, "many", budget)
        except Spent:
            sizes.append(len(left(base / "many")))
    assert sizes == [70, 40, 10]


def test_a_folder_in_which_somebody_writes_is_removed_as_soon_as_it_stops(base: Path) -> None:
    (base / "busy").mkdir()
    over = Event()

    def write() -> None:
        for number in range(3000):
            try:
                (base / "busy" / str(number)).touch()
            except OSError:
                break
        over.set()

    thread = Thread(target=write)
    thread.start()
    removed(base, "busy")
    thread.join()
    assert over.is_set()
    assert left(base) == set()


MOUNTS = """
import ctypes, os, pathlib, sys
base = sys.argv[1]
libc = ctypes.CDLL(None, use_errno=True)
os.unshare(os.CLONE_NEWNS) if hasattr(os, "unshare") else libc.unshare(0x20000)
libc.mount(b"none", b"/", None, 0x4000 | 0x40000, None)
if libc.mount((base + "/keep").encode(), (base + "/base/tree/mounted").encode(), None, 0x1000, None):
    sys.exit(9)
sys.path[:0] = sys.argv[2:]
from pathlib import PurePosixPath
from paddleflow.problems import FileUnusable
from pf_fs.files.budget import Budget
from pf_fs.files.removing import remove
handle = os.open(base + "/base", os.O_PATH)
for path in ("tree", "tree/mounted"):
    try:
        remove(handle, PurePosixPath(path), Budget(60, lambda: 0))
    except FileUnusable as problem:
        print(problem.message)
"""


def test_what_is_mounted_in_a_folder_is_left(base: Path) -> None:
    (base / "tree" / "mounted").mkdir(parents=True)
    command = [sys.executable, "-c", MOUNTS, str(base.parent), *sys.path]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("is the mount of another filesystem") == 2


def test_what_the_machine_does_not_permit_is_said_so(base: Path) -> None:
    (base / "tree").mkdir()
    (base / "tree" / "file").touch()
    (base / "tree").chmod(0o555)
    with opened(base) as handle, nobody(), pytest.raises(FileUnusable, match="'tree': Permission denied"):
        remove(handle, PurePosixPath("tree"), Budget(60, lambda: 0))
