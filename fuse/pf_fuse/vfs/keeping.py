"""What is kept of files beside their bytes."""

from __future__ import annotations

import errno
from contextlib import suppress
from dataclasses import replace

from pf_backends.entries import Condition, Entry, Facts
from pf_backends.errors import Changed, changed, failure
from pf_backends.port import ANYTHING, Backend
from pf_fuse.vfs.nodes import Node
from pf_fuse.vfs.sessions import Sessions, version_here
from pf_fuse.vfs.tree import Tree

_LOOKS = 5
"""How often it is looked again what lies there, if somebody writes to it meanwhile."""


class Keeping:
    """Has the backend keep it, or the upload to come."""

    def __init__(self, backend: Backend, tree: Tree, sessions: Sessions) -> None:
        self._backend = backend
        self._tree = tree
        self._nodes = tree.nodes
        self._sessions = sessions

    def here(self, node: Node, facts: Facts) -> bool:
        """True if the backend is not to be told, or is told by the upload to come. The caller holds the lock."""
        staged = node.staged
        if staged and (staged.dirty or node.nameless):
            staged.facts = _both(staged.facts, facts)
            self._nodes.staged_otherwise(node, staged)
            node.entry = staged.entry(node.entry.path)
        if node.nameless:
            node.entry = _with_facts(node.entry, facts)
        return node.nameless or bool(staged and staged.dirty)

    def there(self, node: Node, path: str, facts: Facts, *, again: bool = False) -> None:
        """The backend keeps it. Who has the file open goes on with it, also if it bears another version now. Blocks.

        ESTALE if another version lies there than is open: who asks by name asks again, and finds that. `again`: a
        process before may have done it, and what is open bears another version by that.
        """
        for _ in range(_LOOKS):
            # It may be an upload of our own that came between.
            with suppress(Changed):
                self._keep(node, path, facts, again=again)
                return
        raise changed(path, "it is written to again and again while something is set; try again when that has ended")

    def _keep(self, node: Node, path: str, facts: Facts, *, again: bool) -> None:
        """Changed if somebody writes to the file meanwhile."""
        used = self._version(node)
        before = self._backend.stat(path) if used is not None else None
        if before and before.version != used and not again:
            self._require_same(node, used, before)
        condition = Condition(version=before.version) if before else ANYTHING
        entry = self._backend.set_facts(path, facts, condition=condition)
        with self._tree.lock:
            if staged := node.staged:
                staged.facts = replace(_both(staged.facts, facts), modified=staged.facts.modified)
            if before and (again or before.version == version_here(node)):
                self._sessions.carry(node, entry)
            elif before is None and (node.opens or node.staged):
                # It was opened since.
                self._sessions.carry(node, entry)
            elif before is None:
                node.entry = entry
            if node.folder:
                self._tree.put(node.folder, node.name, node.entry, node.until if staged and staged.dirty else None)

    def _version(self, node: Node) -> str | None:
        """The one that is open, or written to; None if nobody uses it."""
        with self._tree.lock:
            return version_here(node) if node.opens or node.staged else None

    def _require_same(self, node: Node, version: str | None, there: Entry) -> None:
        """What lies there is another version only if nothing was emptied, or uploaded, here since it was asked for."""
        with self._tree.lock:
            dirty = node.staged and node.staged.dirty
            if not dirty and version_here(node) == version:
                if node.folder:
                    self._tree.put(node.folder, node.name, there)
                raise failure(errno.ESTALE, node.name, "it was replaced by another version")


def _both(old: Facts, new: Facts) -> Facts:
    """The old facts but for those that are new."""
    return Facts(
        modified=old.modified if new.modified is None else new.modified,
        mode=old.mode if new.mode is None else new.mode,
        owner=old.owner if new.owner is None else new.owner,
        attributes=old.attributes if new.attributes is None else new.attributes,
    )


def _with_facts(entry: Entry, facts: Facts) -> Entry:
    return replace(
        entry,
        modified=entry.modified if facts.modified is None else facts.modified,
        mode=entry.mode if facts.mode is None else facts.mode,
        owner=entry.owner if facts.owner is None else facts.owner,
    )
