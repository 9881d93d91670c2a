"""Carries out a plan of mounts, in a process that has a namespace of mounts for itself."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence

from pf_job.runtimes.local.kernel import Mounting, enter_root, mount, restrict
from pf_job.runtimes.local.mounts import (
    Attach,
    Entry,
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

WHOLE = Mounting.BIND | Mounting.RECURSIVE
# Opened in the namespace in which they are mounted, the kernel wants it so.
HANDLE = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
HARMLESS = Mounting.NO_SETUID | Mounting.NO_DEVICES
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
    if users and _is_file(base + USERS):
        mount(users, base + USERS, None, Mounting.BIND)
    enter_root(base)


def _is_file(path: str) -> bool:
    """A link would lead elsewhere from here."""
    return os.path.isfile(path) and not os.path.islink(path)


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
    target = base if step.target == "/" else base + step.target
    match step:
        case Fresh(mode=mode):
            mount("none", target, "tmpfs", HARMLESS, f"mode={mode:o}")
            if step.target == "/":
                # Otherwise it would hold itself wherever the folder it lies in is shown.
                mount(None, target, None, Mounting.UNBINDABLE)
        case Make(entry=entry):
            _make(target, entry)
        case Show(source=source):
            mount(source, target, None, WHOLE)
        case Own():
            mount(f"/proc/self/fd/{own}", target, None, WHOLE)
            restrict(target, HARMLESS)
        case Attach(number=number, read_only=read_only):
            mount(f"/proc/self/fd/{sources[number]}", target, None, WHOLE)
            restrict(target, HARMLESS | (Mounting.READ_ONLY if read_only else Mounting.NONE))
        case Processes():
            mount("proc", target, "proc", HARMLESS)
        case Seal():
            _seal(target)


def _make(target: str, entry: Entry) -> None:
    match entry.kind:
        case Kind.FOLDER if entry.name:
            os.mkdir(target)
        case Kind.FOLDER:
            os.makedirs(target, exist_ok=True)
        case Kind.FILE:
            os.close(os.open(target, os.O_CREAT | os.O_CLOEXEC, 0o644))
        case Kind.LINK:
            os.symlink(entry.leads_to, target)


def _seal(target: str) -> None:
    if not os.path.ismount(target):
        mount(target, target, None, WHOLE)
        restrict(target, Mounting.READ_ONLY)
        return
    flags = Mounting.REMOUNT | Mounting.BIND | Mounting.READ_ONLY | HARMLESS
    mount(None, target, None, flags)
