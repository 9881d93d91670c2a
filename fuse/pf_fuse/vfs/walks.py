"""Guessing which folders will be read next.

Programs that go through a tree read the folders of a folder in the order in which they are listed. The backend is asked
for the next ones while they read: where a request takes long, a tree of many folders is a matter of seconds then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice

from pf_backends.entries import Kind
from pf_fuse.vfs.listings import Listing
from pf_fuse.vfs.nodes import Node

_NEAR = 3
"""Folders after one that was read, of which one that is read next shows that somebody goes through them."""
_FIRST, _MOST = 2, 8
"""Folders that are listed ahead, of one walk and of all at once: who asks for something else has to find a thread."""
_LOOKED_AT = 64
"""Things after a folder among which the next ones are looked for."""
_FOLDERS = 1024
"""In which somebody reads folders one after the other, that are remembered."""


@dataclass(slots=True)
class _Walk:
    """Through the folders of one folder."""

    last: str
    """The name of the folder that was read last."""
    expected: Sequence[str] = ()
    """Names of those that come next."""
    window: int = 0
    ordered: set[str] = field(default_factory=set)
    """Names of those that are listed ahead."""


class Walks:
    """All that are under way. Whoever calls holds the lock of the tree."""

    def __init__(self, listed: Callable[[Node], bool]) -> None:
        """`listed`: a folder is known, or is just being listed."""
        self._listed = listed
        self._under_way = 0
        self._walks: dict[int, _Walk] = {}

    def read(self, folder: Node, child: Callable[[Node, str], Node | None]) -> Sequence[Node]:
        """Which folders to list now that somebody begins to read one; of each it is told when that has ended."""
        above = folder.folder
        if above is None or above.listing is None:
            return ()
        walk = self._walk(above.id, folder)
        self._reach(walk, folder, child(above, walk.last))
        following = _following(above.listing, folder.name, max(_NEAR, walk.window))
        walk.expected = following[:_NEAR]
        ahead = following[: walk.window]
        new = [child(above, name) for name in ahead if name not in walk.ordered]
        walk.ordered = set(ahead)
        asked = [node for node in new if node and not self._listed(node)][: _MOST - self._under_way]
        self._under_way += len(asked)
        return asked

    def ended(self) -> None:
        """One of those that were to be listed is, or could not be."""
        self._under_way -= 1

    def _walk(self, above: int, folder: Node) -> _Walk:
        if len(self._walks) >= _FOLDERS and above not in self._walks:
            self._walks.clear()
        return self._walks.setdefault(above, _Walk(folder.name))

    def _reach(self, walk: _Walk, folder: Node, last: Node | None) -> None:
        slow = last is None or not self._listed(last)
        walk.last = folder.name
        if slow or folder.name not in walk.expected:
            # What is told of a folder would be too old when it is read.
            walk.window = 0
        elif folder.name in walk.ordered and not self._listed(folder):
            walk.window //= 2
        else:
            walk.window = min(_MOST, max(_FIRST, 2 * walk.window))


def _following(listing: Listing, name: str, count: int) -> Sequence[str]:
    folders = (entry.name for entry in listing.after(name, _LOOKED_AT) if entry.kind is Kind.FOLDER)
    return list(islice(folders, count))
