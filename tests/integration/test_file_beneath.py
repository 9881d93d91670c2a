"""Paths lead where they may, and nowhere else, also while others move things about."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from threading import Event, Thread

import pytest

from paddleflow.problems import FileNotFound, FileUnusable, FolderNotAllowed, PathEscapes
from pf_fs.files.beneath import found, make_folder, told, top
from support.folders_beneath import folder_of, handles, nobody, opened


@pytest.fixture
def base(tmp_path: Path) -> Iterator[Path]:
    """A folder with a secret beside it; no handle is left open."""
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key").write_text("secret")
    (tmp_path / "base" / "inner").mkdir(parents=True)
    (tmp_path / "base" / "inner" / "file").write_text("open")
    before = handles()
    yield tmp_path / "base"
    # Those of tests before may be closed meanwhile.
    assert handles() <= before


def read_by(base: Path, path: str, *, follow: bool = True) -> str:
    with opened(base) as handle, found(handle, PurePosixPath(path), follow=follow) as inner:
        return Path(f"/proc/self/fd/{inner}").read_text()


@pytest.mark.parametrize(
    ("link", "target", "path"),
    [
        ("near", "inner", "near/file"),
        ("near", "inner/file", "near"),
        ("near", "./inner/../inner//file", "near"),
        ("inner/up", "..", "inner/up/inner/up/inner/file"),
        ("inner/round", "../inner/file", "inner/round"),
    ],
)
def test_links_are_followed_within(base: Path, link: str, target: str, path: str) -> None:
    (base / link).symlink_to(target)
    assert read_by(base, path) == "open"


@pytest.mark.parametrize(
    "target", ["..", "../secret/key", "/etc/passwd", "inner/../../secret/key", "{base}/inner/file", "/proc/self/cwd"]
)
def test_links_are_not_followed_out(base: Path, target: str) -> None:
    (base / "out").symlink_to(target.format(base=base))
    with pytest.raises(PathEscapes, match="leads out"):
        read_by(base, "out")
    (base / "twice").symlink_to("out/key")
    with pytest.raises(PathEscapes):
        read_by(base, "twice")


@pytest.mark.parametrize(
    ("number", "words"), [(errno.ENOSPC, "disk is full"), (errno.EDQUOT, "quota"), (errno.EIO, "'a': Input/output")]
)
def test_what_the_disk_says_is_handed_on(number: int, words: str) -> None:
    with pytest.raises(FileUnusable, match=words), told(PurePosixPath("a")):
        raise OSError(number, os.strerror(number))


def test_links_in_circles_come_to_an_end(base: Path) -> None:
    (base / "a").symlink_to("b")
    (base / "b").symlink_to("a")
    (base / "wide").symlink_to("/".join(["inner/.."] * 400))
    (base / "wider").symlink_to("/".join(["wide"] * 30))
    assert read_by(base, "wide/inner/file") == "open"
    for path in ("a", "wider/inner/file"):
        with pytest.raises(FileUnusable, match="too many links"):
            read_by(base, path)


def test_a_link_at_the_end_can_be_left_alone(base: Path) -> None:
    (base / "out").symlink_to("/etc")
    with opened(base) as handle, found(handle, PurePosixPath("out"), follow=False) as inner:
        assert stat.S_ISLNK(os.fstat(inner).st_mode)


@pytest.mark.parametrize("path", ["nothing", "nothing/more", "inner/nothing"])
def test_what_is_not_there_is_said_so(base: Path, path: str) -> None:
    with pytest.raises(FileNotFound, match=path):
        read_by(base, path)


def test_a_file_is_no_folder(base: Path) -> None:
    with pytest.raises(FileUnusable, match="Not a directory"):
        read_by(base, "inner/file/more")


def test_secrets_are_not_entered(base: Path) -> None:
    (base / ".ssh").mkdir()
    (base / "innocent").symlink_to(".ssh")
    for path in (".ssh", ".ssh/id", "innocent/id", "inner/.kube"):
        with pytest.raises(FolderNotAllowed, match="never shared"):
            read_by(base, path)


def test_another_folder_in_its_place_is_noticed(base: Path) -> None:
    folder = folder_of(base)
    base.rename(base.with_name("moved"))
    base.mkdir()
    with pytest.raises(PathEscapes, match="replaced"), top(folder):
        pass
    base.rmdir()
    base.symlink_to("moved")
    with pytest.raises(OSError, match=r"Not a directory|symbolic"), top(folder):
        pass


def test_nobody_gets_out_by_moving_things_meanwhile(base: Path) -> None:
    """A folder and a link out of the filesystem change places all the time."""
    over = Event()
    (base / "link").symlink_to("../secret")
    (base / "place").mkdir()
    (base / "place" / "key").write_text("open")

    def swap() -> None:
        while not over.is_set():
            (base / "place").rename(base / "aside")
            (base / "link").rename(base / "place")
            (base / "place").rename(base / "link")
            (base / "aside").rename(base / "place")

    thread = Thread(target=swap)
    thread.start()
    outcomes = set()
    try:
        for _ in range(2000):
            try:
                outcomes.add(read_by(base, "place/key"))
            except (PathEscapes, FileNotFound) as problem:
                outcomes.add(type(problem).__name__)
    finally:
        over.set()
        thread.join()
    assert "open" in outcomes
    assert "secret" not in outcomes


def test_nobody_gets_out_by_moving_a_folder_away_from_under_a_walk(base: Path) -> None:
    """A walk that asked for the folder above would land beside the filesystem."""
    (base / "inner" / "up").symlink_to("../file")
    (base / "file").write_text("mine")
    with opened(base) as handle:
        (base / "inner").rename(base.with_name("taken"))
        with pytest.raises(FileNotFound), found(handle, PurePosixPath("inner/up")):
            pass


def test_new_folders_are_like_the_one_above(base: Path) -> None:
    os.chown(base / "inner", 1234, 4321)
    (base / "inner").chmod(0o2770)
    path = PurePosixPath("inner/a/b/c")
    with opened(base) as handle, found(handle, path, on_missing=make_folder):
        pass
    for made in ("inner/a", "inner/a/b", "inner/a/b/c"):
        seen = (base / made).stat()
        assert (seen.st_uid, seen.st_gid, stat.S_IMODE(seen.st_mode)) == (1234, 4321, 0o2770)
    (base / "inner" / "a").chmod(0o700)
    with opened(base) as handle, found(handle, path, on_missing=make_folder):
        pass
    assert stat.S_IMODE((base / "inner" / "a").stat().st_mode) == 0o700, "what was there is left as it is"


def test_who_is_not_root_makes_folders_too(base: Path) -> None:
    (base / "open").mkdir()
    (base / "open").chmod(0o777)
    with opened(base / "open") as handle, nobody(), found(handle, PurePosixPath("a/b"), on_missing=make_folder):
        pass
    assert stat.S_IMODE((base / "open" / "a" / "b").stat().st_mode) == 0o777


def test_new_folders_are_made_where_links_lead_and_never_outside(base: Path) -> None:
    (base / "near").symlink_to("inner")
    (base / "dangling").symlink_to("inner/new")
    (base / "out").symlink_to("../secret")
    with opened(base) as handle:
        for path in ("near/a", "dangling/b"):
            with found(handle, PurePosixPath(path), on_missing=make_folder):
                pass
        with pytest.raises(PathEscapes), found(handle, PurePosixPath("out/c"), on_missing=make_folder):
            pass
        with pytest.raises(FileUnusable), found(handle, PurePosixPath("inner/file/d"), on_missing=make_folder):
            pass
    assert (base / "inner" / "a").is_dir()
    assert (base / "inner" / "new" / "b").is_dir()
    assert [each.name for each in base.with_name("secret").iterdir()] == ["key"]
