"""What programs do with names, folders and attributes of a mount that the kernel's own protocol serves."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from fixtures_fuse import Mirrored
from support.fuse_mirror import AT_FDCWD, LIBC

NOREPLACE, EXCHANGE = 1, 2


def test_a_folder_is_made_listed_and_removed(mirrored: Mirrored) -> None:
    (mirrored.seen / "folder").mkdir(mode=0o750)
    assert (mirrored.real / "folder").is_dir()
    assert stat.S_IMODE((mirrored.seen / "folder").stat().st_mode) == 0o750
    assert os.listdir(mirrored.seen) == ["folder"]
    (mirrored.seen / "folder").rmdir()
    assert os.listdir(mirrored.seen) == []


def test_what_is_missing_is_missing(mirrored: Mirrored) -> None:
    for attempt in (os.stat, os.unlink, os.rmdir, os.readlink, os.listdir):
        with pytest.raises(FileNotFoundError):
            attempt(mirrored.seen / "nothing")


def test_what_was_missing_and_is_made_is_there(mirrored: Mirrored) -> None:
    assert not (mirrored.seen / "file").exists()
    (mirrored.seen / "file").touch()
    assert (mirrored.seen / "file").exists()


def test_errors_have_their_numbers(mirrored: Mirrored) -> None:
    (mirrored.seen / "folder").mkdir()
    (mirrored.seen / "folder" / "file").touch()
    for number, attempt in (
        (errno.ENOTEMPTY, lambda: os.rmdir(mirrored.seen / "folder")),
        (errno.EEXIST, lambda: os.mkdir(mirrored.seen / "folder")),
        (errno.EISDIR, lambda: os.unlink(mirrored.seen / "folder")),
        (errno.ENOTDIR, lambda: os.rmdir(mirrored.seen / "folder" / "file")),
        (errno.ENOTDIR, lambda: os.stat(mirrored.seen / "folder" / "file" / "below")),
        (errno.ENAMETOOLONG, lambda: os.mkdir(mirrored.seen / ("x" * 256))),
        (errno.EPERM, lambda: os.mknod(mirrored.seen / "device", stat.S_IFCHR | 0o600, os.makedev(1, 3))),
    ):
        with pytest.raises(OSError) as refused:  # noqa: PT011  # the number is what is looked at
            attempt()
        assert refused.value.errno == number


@pytest.mark.parametrize("number", [errno.EIO, errno.EACCES, errno.ENOSPC, errno.EDQUOT, errno.ESTALE, errno.ETIMEDOUT])
@pytest.mark.parametrize("when", ["fails", "fails_later"])
def test_whatever_fails_says_how(mirrored: Mirrored, when: str, number: int) -> None:
    with pytest.raises(OSError) as refused:  # noqa: PT011  # the number is what is looked at
        os.stat(mirrored.seen / f"{when}-{number}")
    assert refused.value.errno == number


@pytest.mark.parametrize("name", ["raises", "raises-later", "resolves-nothing", "fails-without-number"])
def test_a_fault_is_an_error_and_the_mount_goes_on(mirrored: Mirrored, name: str) -> None:
    with pytest.raises(OSError, match="Input/output") as refused:
        os.stat(mirrored.seen / name)
    assert refused.value.errno == errno.EIO
    assert os.listdir(mirrored.seen) == []


def test_things_are_renamed(mirrored: Mirrored) -> None:
    (mirrored.seen / "folder").mkdir()
    (mirrored.seen / "folder" / "file").write_text("text")
    (mirrored.seen / "folder").rename(mirrored.seen / "other")
    assert (mirrored.seen / "other" / "file").read_text() == "text"
    (mirrored.seen / "other" / "file").rename(mirrored.seen / "file")
    assert (mirrored.real / "file").read_text() == "text"
    assert sorted(os.listdir(mirrored.seen)) == ["file", "other"]


def test_renaming_replaces(mirrored: Mirrored) -> None:
    (mirrored.seen / "old").write_text("old")
    (mirrored.seen / "new").write_text("new")
    with open(mirrored.seen / "old") as file:
        (mirrored.seen / "new").rename(mirrored.seen / "old")
        assert file.read() == "old"
    assert (mirrored.seen / "old").read_text() == "new"


@pytest.mark.parametrize("flag", [NOREPLACE, EXCHANGE])
def test_renaming_has_flags(mirrored: Mirrored, flag: int) -> None:
    (mirrored.seen / "one").write_text("one")
    (mirrored.seen / "two").write_text("two")
    names = [os.fsencode(mirrored.seen / name) for name in ("one", "two")]
    done = LIBC.renameat2(AT_FDCWD, names[0], AT_FDCWD, names[1], flag)
    assert done == (0 if flag == EXCHANGE else -1)
    assert (mirrored.seen / "one").read_text() == ("two" if flag == EXCHANGE else "one")


def test_links_are_made_and_followed(mirrored: Mirrored) -> None:
    (mirrored.seen / "file").write_text("text")
    (mirrored.seen / "soft").symlink_to("file")
    (mirrored.seen / "hard").hardlink_to(mirrored.seen / "file")
    assert (mirrored.seen / "soft").readlink() == Path("file")
    assert (mirrored.seen / "soft").read_text() == "text"
    assert (mirrored.seen / "hard").stat().st_nlink == 2
    assert (mirrored.seen / "hard").stat().st_ino == (mirrored.seen / "file").stat().st_ino


def test_names_are_bytes(mirrored: Mirrored) -> None:
    names = [b"blank and\nline", "umläute".encode(), b"\xff\xfe not text", b"x" * 255]
    for name in names:
        os.mkdir(os.fsencode(mirrored.seen) + b"/" + name)
    assert sorted(os.listdir(os.fsencode(mirrored.seen))) == sorted(names)
    assert sorted(os.listdir(os.fsencode(mirrored.real))) == sorted(names)


def test_other_things_than_files_are_made(mirrored: Mirrored) -> None:
    os.mkfifo(mirrored.seen / "fifo")
    os.mknod(mirrored.seen / "socket", stat.S_IFSOCK | 0o600)
    assert (mirrored.seen / "fifo").is_fifo()
    assert (mirrored.seen / "socket").is_socket()


def test_attributes_are_set(mirrored: Mirrored) -> None:
    path = mirrored.seen / "file"
    path.touch()
    path.chmod(0o4701)
    os.chown(path, 12, -1)
    os.chown(path, -1, 34)
    os.utime(path, ns=(1_500_000_000_123_456_789, 1_600_000_000_987_654_321))
    for found in (path.stat(), (mirrored.real / "file").stat()):
        assert (found.st_uid, found.st_gid) == (12, 34)
        assert (found.st_atime_ns, found.st_mtime_ns) == (1_500_000_000_123_456_789, 1_600_000_000_987_654_321)
    path.chmod(0o701)
    assert stat.S_IMODE(path.stat().st_mode) == 0o701


def test_times_are_set_to_now_and_before_1970(mirrored: Mirrored) -> None:
    path = mirrored.seen / "file"
    path.touch()
    os.utime(path, ns=(-1_500_000_000, -1))
    assert (path.stat().st_atime_ns, path.stat().st_mtime_ns) == (-1_500_000_000, -1)
    os.utime(path)
    assert abs(path.stat().st_mtime - (mirrored.real.stat().st_mtime)) < 60


def test_extended_attributes_are_kept(mirrored: Mirrored) -> None:
    path = mirrored.seen / "file"
    path.touch()
    os.setxattr(path, "user.one", b"1" * 100)
    os.setxattr(path, "user.empty", b"")
    assert os.getxattr(path, "user.one") == b"1" * 100
    assert os.getxattr(path, "user.empty") == b""
    assert sorted(os.listxattr(path)) == ["user.empty", "user.one"]
    with pytest.raises(FileExistsError):
        os.setxattr(path, "user.one", b"2", os.XATTR_CREATE)
    os.removexattr(path, "user.one")
    with pytest.raises(OSError, match="No data") as missing:
        os.getxattr(path, "user.one")
    assert missing.value.errno == errno.ENODATA


def test_the_space_is_that_of_what_is_mounted(mirrored: Mirrored) -> None:
    seen, real = os.statvfs(mirrored.seen), os.statvfs(mirrored.real)
    assert (seen.f_blocks, seen.f_files, seen.f_namemax) == (real.f_blocks, real.f_files, real.f_namemax)


def test_permissions_are_checked(mirrored: Mirrored) -> None:
    (mirrored.seen / "secret").write_text("x")
    (mirrored.seen / "secret").chmod(0o600)
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
        try:
            os.close(os.open(mirrored.seen / "secret", os.O_RDONLY))
        except PermissionError:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
