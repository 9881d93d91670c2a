"""Lists of folders, in pieces of the size that the kernel has room for.

Whoever answers counts how often the kernel is told of each thing. What was got and did not fit is therefore kept for
the next piece, and let go of if nobody comes for it.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator, Sequence

from pf_fuse.kernel.encoding import NAME_MAX, entry_fields
from pf_fuse.kernel.wire import DIRENT, DIRENT_PLUS, ENTRY_OUT
from pf_fuse.operations import Named

DOT_PLACES = 2
"""The kernel's places 0 and 1 are those of ``.`` and ``..``; what others know as place 0 is its place 2."""
KEPT = 64
"""Pieces that are kept at most: folders that are opened without a message are closed without one."""
UNKNOWN_NODE = 0xFFFFFFFF
FOLDER_KIND = 4
DOTS = (b".", b"..")

Forget = Callable[[Sequence[tuple[int, int]]], None]


class Folders:
    """What was got of folders and not yet told."""

    def __init__(self, forget: Forget) -> None:
        self._forget = forget
        self._kept: dict[tuple[int, int], Sequence[Named]] = {}

    def take(self, node: int, place: int) -> Sequence[Named]:
        """What is already there from this place on."""
        return self._kept.pop((node, place), ())

    def keep(self, node: int, place: int, things: Sequence[Named]) -> None:
        before = self._kept.pop((node, place), ())
        self._kept[node, place] = things
        self.let_go(before)
        if len(self._kept) > KEPT:
            self.let_go(self._kept.pop(next(iter(self._kept)), ()))

    def closed(self, node: int) -> None:
        """Nobody comes for what is left, or gets it anew."""
        for key in [key for key in list(self._kept) if key[0] == node]:
            self.let_go(self._kept.pop(key, ()))

    def let_go(self, things: Sequence[Named]) -> None:
        """The kernel was not told of these."""
        told = [(thing.known.attributes.node, 1) for thing in things if thing.known.attributes is not None]
        if told:
            self._forget(told)


class Piece:
    """One answer to the kernel: as much of a folder as there is room for."""

    def __init__(self, folders: Folders, node: int, offset: int, room: int, with_attributes: bool) -> None:
        self.place = max(offset - DOT_PLACES, 0)
        self._folders = folders
        self._node = node
        self._offset = offset
        self._room = room
        self._plus = with_attributes
        self._least = (DIRENT_PLUS if with_attributes else DIRENT).size + 8
        self.had = folders.take(node, self.place)
        """What comes first, because it did not fit before."""

    @property
    def wanted(self) -> int:
        """How many more there may be room for."""
        return self._room // self._least - len(self.had)

    @property
    def goes_on(self) -> int:
        """Where more begins."""
        return self.had[-1].place if self.had else self.place

    def encode(self, more: Sequence[Named]) -> bytes:
        things = [*self.had, *self._possible(more)]
        parts = list(self._dots())
        left = self._room - sum(map(len, parts))
        encoded = _with_attributes if self._plus else _without_attributes
        told, place = 0, self.place
        for thing in things:
            part = encoded(thing)
            left -= len(part)
            if left < 0:
                break
            parts.append(part)
            told += 1
            place = thing.place
        if told < len(things):
            self._folders.keep(self._node, place, things[told:])
        if not self._plus:
            self._folders.let_go(things[:told])
        return b"".join(parts)

    def _possible(self, things: Sequence[Named]) -> Sequence[Named]:
        """The kernel refuses a whole list for one name that no file can have; backends may have such."""
        if are_names([thing.name for thing in things]):
            return things
        self._folders.let_go([thing for thing in things if not is_name(thing.name)])
        possible = [thing for thing in things if is_name(thing.name)]
        if not possible:
            # Nothing at all would mean that the list ends here.
            raise OSError(errno.EIO, "these names cannot be those of files")
        return possible

    def fail(self, more: Sequence[Named] | None) -> None:
        """There is no answer, or nobody who waits for it."""
        self._folders.let_go([*self.had, *(more or ())])

    def _dots(self) -> Iterator[bytes]:
        for place in range(self._offset, DOT_PLACES):
            node = self._node if place == 0 else UNKNOWN_NODE
            name = DOTS[place]
            head = bytes(ENTRY_OUT.size) if self._plus else b""
            yield head + DIRENT.pack(node, place + 1, len(name), FOLDER_KIND) + name.ljust(8, b"\0")


def is_name(name: bytes) -> bool:
    return are_names([name])


def are_names(names: Sequence[bytes]) -> bool:
    """All of them are names that files can have."""
    if not all(names) or any(dots in names for dots in DOTS):
        return False
    together = b"".join(names)
    return b"/" not in together and b"\0" not in together and max(map(len, names), default=0) <= NAME_MAX


def _with_attributes(thing: Named) -> bytes:
    name, known = thing.name, thing.known
    node, mode = _node_and_mode(thing)
    head = DIRENT_PLUS.pack(*entry_fields(known), node, thing.place + DOT_PLACES, len(name), mode >> 12)
    return head + _padded(name)


def _without_attributes(thing: Named) -> bytes:
    name = thing.name
    node, mode = _node_and_mode(thing)
    return DIRENT.pack(node, thing.place + DOT_PLACES, len(name), mode >> 12) + _padded(name)


def _padded(name: bytes) -> bytes:
    return name.ljust((len(name) + 7) & ~7, b"\0")


def _node_and_mode(thing: Named) -> tuple[int, int]:
    attributes = thing.known.attributes
    return (UNKNOWN_NODE, 0) if attributes is None else (attributes.node, attributes.mode)
