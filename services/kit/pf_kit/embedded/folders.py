"""Folders with exactly the owner and mode that they need, and the lock of a data folder."""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pf_kit.embedded.accounts import Account
from pf_kit.embedded.refusal import Refusal

PASSABLE = 0o711
"""Mode of a folder that lets another account through to what is its own, without a look at the rest."""


def own_folder(folder: Path, mode: int) -> None:
    """Makes a folder of this account's with this mode, or sees that it is one. Makes its parents if need be."""
    _make_parents(folder.parent)
    give_folder(folder, mode, os.geteuid(), os.getegid())


def account_folder(folder: Path, account: Account) -> None:
    """Makes a folder that only this account may enter, or sees that it is one."""
    give_folder(folder, 0o700, account.uid, account.gid)


def give_folder(folder: Path, mode: int, uid: int, gid: int) -> None:
    """Makes a folder of this owner and mode, or sees that it is one.

    A link in its place is refused: in a folder such as /tmp somebody else may have laid it there to receive what we
    write.
    """
    made = _make(folder)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise Refusal(f"{folder} is not a folder", f"Move it away: mv {folder} {folder}.old")
    if made:
        os.chown(folder, uid, gid)
    elif found.st_uid != uid:
        raise Refusal(
            f"{folder} belongs to user id {found.st_uid}, not {uid}",
            "Run as its owner, or choose another data folder with --data.",
        )
    if stat.S_IMODE(found.st_mode) != mode:
        folder.chmod(mode)


def rewrite_of_account(file: Path, account: Account, change: Callable[[str], str]) -> None:
    """Changes a file, if it is there, in a folder of another account's.

    That account can lay a link in its place, to make us write where it may not: only a file of its own is written to.
    """
    try:
        descriptor = os.open(file, os.O_RDWR | os.O_NOFOLLOW)
    except FileNotFoundError:
        return
    except OSError as problem:
        raise Refusal(f"{file} cannot be opened: {problem.strerror}", f"Look at it, then remove it: {file}") from None
    with os.fdopen(descriptor, "r+") as handle:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != account.uid or found.st_nlink != 1:
            raise Refusal(f"{file} is not a file of {account.name}", f"Look at it, then remove it: {file}")
        text = change(handle.read())
        handle.seek(0)
        handle.write(text)
        handle.truncate()


def _make_parents(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise _unmade(problem) from problem


def _make(folder: Path) -> bool:
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        return False
    except OSError as problem:
        raise _unmade(problem) from problem
    return True


def _unmade(problem: OSError) -> Refusal:
    return Refusal(
        f"{problem.filename} cannot be made: {problem.strerror}",
        "Choose a data folder that you may write to with --data.",
    )


class Locked(Exception):
    """Another process holds the lock."""


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Holds a lock file within the block. Raises Locked if another process does.

    The kernel lets go of the lock of a process that died.
    """
    with file.open("ab") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as taken:
            raise Locked from taken
        yield
