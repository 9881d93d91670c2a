"""Carries out a plan of mounts, in a process that has a namespace of mounts for itself."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from contextlib import suppress

from pf_job.runtimes.local.kernel import Mounting, enter_root, mount, restrict
from pf_job.runtimes.local.mounts import (
    Attach,
    Entry,
    Freeze,
    Fresh,
    Kind,
    Make,
    Own,
    Processes,
    Seal,
    Show,
    Step,
    Unmountable,
    Wish,
    plan,
)
from pf_job.runtimes.local.places import make_folders, name_of, opened

WHOLE = Mounting.BIND | Mounting.RECURSIVE
# Opened in the namespace in which they are mounted, the kernel wants it so.
HANDLE = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
HARMLESS = Mounting.NO_SETUID | Mounting.NO_DEVICES
READ_ONLY = Mounting.READ_ONLY
SEALED = Mounting.REMOUNT | Mounting.BIND | READ_ONLY | HARMLESS
USERS = "/etc/passwd"


class Files:
    """The machine's files, as a plan asks for them."""

    def kind(self, path: str) -> Kind | None:
        try:
            mode = os.stat(path).st_mode
        except OSError:
            return None
        return Kind.FOLDER if stat.S_ISDIR(mode) else Kind.FILE

    def real(self, path: str) -> str:
        return os.path.realpath(path)

    def entries(self, folder: str) -> Sequence[Entry]:
        with os.scandir(folder) as found:
            return [_entry(entry) for entry in found]


def _entry(entry: os.DirEntry[str]) -> Entry:
    if entry.is_symlink():
        return Entry(entry.name, Kind.LINK, os.readlink(entry.path))
    return Entry(entry.name, Kind.FOLDER if entry.is_dir() else Kind.FILE)


def build(
    base: str, own: str, wishes: Sequence[Wish], hidden: Sequence[str], sealed: Sequence[str], users: str = ""
) -> None:
    """Gives this process a root with these folders, on the empty folder `base`; `own` is for temporary files.

    `users` is a file that stands for that of the machine's users, if it has one.

    Raises Unmountable.
    """
    sources = [_opened(wish) for wish in wishes]
    temporary = os.open(own, HANDLE)
    steps = plan(wishes, hidden, sealed, Files())
    mount(None, "/", None, Mounting.RECURSIVE | Mounting.PRIVATE)
    for step in steps:
        _do(step, base, temporary, sources)
    if users:
        _name_users(base, users)
    enter_root(base)


def _name_users(base: str, users: str) -> None:
    """Where the users of the machine are not a file, they are left as they are."""
    with suppress(OSError), opened(base, USERS) as place:
        if stat.S_ISREG(os.fstat(place).st_mode):
            mount(users, name_of(place), None, Mounting.BIND)


def _opened(wish: Wish) -> int:
    """A handle on the source, so that it is this folder whatever is mounted over its path."""
    try:
        handle = os.open(wish.source, HANDLE)
    except OSError as problem:
        message = f"{wish.source}, to be mounted at {wish.target}, cannot be opened: {problem.strerror}"
        raise Unmountable(message) from problem
    found = os.fstat(handle)
    if wish.identity not in (None, (found.st_dev, found.st_ino)):
        raise Unmountable(f"{wish.source}, to be mounted at {wish.target}, is no longer the folder that was granted")
    return handle


def _do(step: Step, base: str, own: int, sources: Sequence[int]) -> None:
    try:
        match step:
            case Make():
                _make(base, step)
            case Show():
                _show(base, step)
            case Seal():
                with opened(base, step.target) as place:
                    mount(None, name_of(place), None, SEALED)
            case Freeze():
                with opened(base, step.target) as place:
                    _mount(base, step.target, place, HARMLESS | READ_ONLY)
            case Own():
                _mount(base, step.target, own, HARMLESS)
            case Attach(number=number, read_only=read_only):
                _mount(base, step.target, sources[number], HARMLESS | (READ_ONLY if read_only else Mounting.NONE))
            case _:
                _begin(base, step)
    except OSError as problem:
        raise Unmountable(f"{step.target} cannot be mounted: {problem.strerror} ({problem.filename})") from problem


def _show(base: str, step: Show) -> None:
    try:
        with opened("/", step.source) as source:
            _mount(base, step.target, source)
    except FileNotFoundError:
        # What is gone since its folder was looked through need not be shown; what is to hide another has to be there.
        if step.source != step.target:
            raise


def _mount(base: str, target: str, source: int, flags: Mounting = Mounting.NONE) -> None:
    """Shows what is open at another place, with restrictions."""
    with opened(base, target) as place:
        mount(name_of(source), name_of(place), None, WHOLE)
    if flags:
        # Opened once more, it is what was mounted, and no longer what is below.
        with opened(base, target) as place:
            restrict(name_of(place), flags)


def _begin(base: str, step: Fresh | Processes) -> None:
    with opened(base, step.target) as place:
        match step:
            case Fresh(mode=mode):
                mount("none", name_of(place), "tmpfs", HARMLESS, f"mode={mode:o}")
            case Processes():
                mount("proc", name_of(place), "proc", HARMLESS)
    if step.target == "/":
        # Otherwise it would hold itself wherever the folder it lies in is shown.
        mount(None, base, None, Mounting.UNBINDABLE)


def _make(base: str, step: Make) -> None:
    if not step.entry.name:
        make_folders(base, step.target)
        return
    with opened(base, os.path.dirname(step.target)) as folder:
        match step.entry.kind:
            case Kind.FOLDER:
                os.mkdir(step.entry.name, dir_fd=folder)
            case Kind.FILE:
                os.close(os.open(step.entry.name, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644, dir_fd=folder))
            case Kind.LINK:
                os.symlink(step.entry.leads_to, step.entry.name, dir_fd=folder)
