"""What is mounted where, so that a replica sees its folders at their places and nothing that is not its business.

A replica gets a root of its own: a small file system in memory on which the folders of the machine's root appear. So a
folder can be made anywhere without touching the machine. Where a target lies deeper, in a folder that exists, that
folder is laid out anew in the same way.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

MOST_ENTRIES = 2_000
"""Of a folder that is laid out anew: each costs the kernel a mount."""
PRIVATE = ("/tmp", "/var/tmp")  # noqa: S108 - the places at which each replica gets a folder of its own
SHARED_MEMORY = "/dev/shm"  # noqa: S108 - as above, in memory
KERNEL = ("/proc", "/sys", "/dev")
"""Nothing is made in these."""


class Kind(StrEnum):
    """What a path leads to."""

    FOLDER = "folder"
    FILE = "file"
    LINK = "link"


@dataclass(frozen=True, slots=True)
class Entry:
    """What lies in a folder."""

    name: str
    kind: Kind
    leads_to: str = ""
    """Of a link."""


class View(Protocol):
    """The machine's files."""

    def kind(self, path: str) -> Kind | None:
        """What is there, links followed; None if nothing is."""

    def real(self, path: str) -> str:
        """The path without links, as far as it exists."""

    def entries(self, folder: str) -> Sequence[Entry]:
        """What lies in a folder."""


@dataclass(frozen=True, slots=True)
class Fresh:
    """An empty file system in memory."""

    target: str
    mode: int


@dataclass(frozen=True, slots=True)
class Make:
    """A folder with its parents, an empty file, or a link, in what is the replica's own."""

    target: str
    entry: Entry


@dataclass(frozen=True, slots=True)
class Show:
    """A part of the machine, at its own place or, if it is a file that hides another, at that one's."""

    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Attach:
    """A folder that was asked for. The number is its place in the order."""

    number: int
    target: str
    read_only: bool


@dataclass(frozen=True, slots=True)
class Own:
    """The replica's folder for temporary files."""

    target: str


@dataclass(frozen=True, slots=True)
class Processes:
    """The kernel's view of the replica's processes."""

    target: str


@dataclass(frozen=True, slots=True)
class Seal:
    """Nothing can be written from here on in what was made for the replica there."""

    target: str


@dataclass(frozen=True, slots=True)
class Freeze:
    """Nothing can be written to a folder of the machine, nor to what is mounted below it."""

    target: str


Step = Fresh | Make | Show | Attach | Own | Processes | Seal | Freeze


class Unmountable(Exception):
    """These mounts cannot be made; the message says why, and what to do."""


@dataclass(frozen=True, slots=True)
class Wish:
    """A folder asked for."""

    source: str
    target: str
    read_only: bool
    identity: tuple[int, int] | None = None
    """Device and inode that the source must have."""


def plan(wishes: Sequence[Wish], hidden: Sequence[str], sealed: Sequence[str], view: View) -> list[Step]:
    """The steps from an empty root to all that the replica sees. Raises Unmountable.

    `hidden` is covered up, `sealed` cannot be written to.
    """
    secret = [path for path in map(view.real, hidden) if view.kind(path)]
    covers = [path for path in secret if not _private(path)]
    placed = sorted(_placed(wishes, view), key=lambda wish: wish[1].count("/"))
    taken: list[str] = []
    anew: set[str] = {"/"}
    ending: list[Step] = []
    for number, target, read_only in placed:
        above = [(wishes[other].source, path) for other, path, _ in placed if path in taken and _within(target, path)]
        if above:
            _require_in_mount(target, *above[-1], view)
        elif _private(target) or any(_within(target, cover) for cover in covers):
            ending.append(Make(target, Entry("", Kind.FOLDER)))
        elif view.kind(target) is not Kind.FOLDER:
            anew.add(_nearest(target, view))
            ending.append(Make(target, Entry("", Kind.FOLDER)))
        ending += [Attach(number, target, read_only), *_covered_within(wishes[number].source, target, secret, view)]
        taken.append(target)
    layers = sorted(anew)
    steps = [step for folder in layers for step in _laid_out(folder, view)]
    steps += [*_own(view), *(_covered(path, path, view) for path in covers), *ending]
    steps += [Processes("/proc"), *(Freeze(path) for path in sealed if view.kind(path)), *map(Seal, layers)]
    return steps


def check(wishes: Sequence[Wish]) -> str:
    """What is wrong with these by themselves; empty if nothing is."""
    targets = [wish.target for wish in wishes]
    for target in targets:
        if not target.startswith("/") or posixpath.normpath(target) != target or "\0" in target:
            return f"the mount path {target!r} is not absolute and plain"
        if target == "/" or any(target == root or _within(target, root) for root in KERNEL):
            return f"nothing can be mounted at {target}"
        if targets.count(target) > 1:
            return f"two folders are to be mounted at {target}"
    return next((f"the folder {wish.source!r} is not absolute" for wish in wishes if wish.source[:1] != "/"), "")


def _placed(wishes: Sequence[Wish], view: View) -> list[tuple[int, str, bool]]:
    """The targets where they really are: a link on the way is followed."""
    real = [
        wish.target if _private(wish.target) or wish.target in PRIVATE else view.real(wish.target) for wish in wishes
    ]
    fault = check([Wish(wish.source, target, False) for wish, target in zip(wishes, real, strict=True)])
    if fault:
        raise Unmountable(fault)
    return [(number, target, wish.read_only) for number, (wish, target) in enumerate(zip(wishes, real, strict=True))]


def _require_in_mount(target: str, source: str, path: str, view: View) -> None:
    inside = posixpath.relpath(target, path)
    if view.kind(posixpath.join(source, inside)) is not Kind.FOLDER:
        raise Unmountable(f"{target} lies in what is mounted at {path}, and there is no folder {inside}: make it there")


def _nearest(target: str, view: View) -> str:
    """The deepest folder above the target that exists, if it can be laid out anew."""
    if view.kind(target) is not None:
        raise Unmountable(f"nothing can be mounted at {target}: on this machine it is a file")
    folder = posixpath.dirname(target)
    while view.kind(folder) is None:
        folder = posixpath.dirname(folder)
    if view.kind(folder) is not Kind.FOLDER:
        raise Unmountable(f"nothing can be mounted at {target}: on this machine {folder} is a file")
    if len(view.entries(folder)) > MOST_ENTRIES:
        raise Unmountable(
            f"{target} does not exist, and {folder} holds too much to be laid out anew: "
            f"make the folder {target} on this machine, or mount elsewhere"
        )
    return folder


def _laid_out(folder: str, view: View) -> list[Step]:
    steps: list[Step] = [Fresh(folder, 0o755)]
    for entry in view.entries(folder):
        path = posixpath.join(folder, entry.name)
        steps.append(Make(path, entry))
        if entry.kind is not Kind.LINK and path not in ("/proc", *PRIVATE):
            steps.append(Show(path, path))
    return steps


def _own(view: View) -> list[Step]:
    own: list[Step] = [Own(path) for path in PRIVATE if view.real(path) == path and view.kind(path)]
    has_memory = view.kind(SHARED_MEMORY) and view.real(SHARED_MEMORY) == SHARED_MEMORY
    return [*own, Fresh(SHARED_MEMORY, 0o1777)] if has_memory else own


def _covered(path: str, target: str, view: View) -> Step:
    return Fresh(target, 0o755) if view.kind(path) is Kind.FOLDER else Show("/dev/null", target)


def _covered_within(source: str, target: str, hidden: Sequence[str], view: View) -> list[Step]:
    """What is hidden stays so where it appears a second time."""
    real = view.real(source)
    return [_covered(path, target + path[len(real.rstrip("/")) :], view) for path in hidden if _within(path, real)]


def _private(path: str) -> bool:
    return any(_within(path, private) for private in (*PRIVATE, SHARED_MEMORY))


def _within(path: str, folder: str) -> bool:
    """Whether a path lies below a folder."""
    return path.startswith(folder.rstrip("/") + "/")
