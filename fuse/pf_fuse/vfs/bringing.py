"""Having here what a file has, so that it can be changed, or read when it is gone from the backend."""

from __future__ import annotations

import errno
import os
from concurrent.futures import Future
from contextlib import closing, suppress

from pf_backends.entries import Entry, Facts, Kind
from pf_backends.errors import failure
from pf_fuse.staging.staged import Staged
from pf_fuse.vfs.nodes import Node
from pf_fuse.vfs.ports import Content
from pf_fuse.vfs.sessions import Sessions
from pf_fuse.vfs.tree import Tree

_PIECE = 4 << 20
"""Bytes of a file that are brought here at once."""
_PARTING = 256 << 20
"""Bytes of a file that is brought here because it goes while somebody reads it; who removes it waits for that."""


class Bringing:
    """Makes staged files of what the backend has."""

    def __init__(self, tree: Tree, sessions: Sessions) -> None:
        self._nodes = tree.nodes
        self._lock = tree.lock
        self._sessions = sessions

    def brought(self, node: Node) -> Staged:
        """Where the file is written, with what it has. Blocks."""
        with self._lock:
            if node.staged:
                return node.staged
        staged = self.copied(node)
        with self._lock:
            if node.staged:
                self._nodes.stage.end(staged)
                return node.staged
            with self._nodes.stage.beginning(staged):
                self._nodes.begin(node, staged)
            return staged

    def copied(self, node: Node, size: int | None = None) -> Staged:
        """A copy of what the backend has of the file, or of so many bytes, of which nobody else knows yet. Blocks."""
        with self._lock:
            content, entry = self._sessions.borrow(node), node.entry
        with closing(content):
            staged = self._begun(entry, made_of=entry.version)
            staged.arrived(entry)
            with self._nodes.stage.beginning(staged):
                _fill(staged, entry, content, entry.size if size is None else min(size, entry.size))
        return staged

    def begun_anew(self, node: Node) -> Staged:
        """Where the file is written whose bytes nobody needs any more. The caller holds the lock."""
        staged = node.staged
        if staged is None:
            staged = self._begun(node.entry)
            with self._nodes.stage.beginning(staged):
                self._nodes.begin(node, staged)
        return staged

    def before_it_goes(self, node: Node) -> None:
        """Who has open what is removed, or replaced, goes on reading it: the backend will not have it. Blocks."""
        if not self._would_be_lost(node):
            return
        # Others may have removed it, or it is not to be had: then its readers are told.
        with suppress(OSError):
            self.brought(node)

    def _would_be_lost(self, node: Node) -> bool:
        """Blocks."""
        with self._lock:
            if not _is_only_there(node):
                return False
            content = self._sessions.borrow(node)
        with closing(content):
            # What was not checked yet is read from the disk for that, while others go on.
            if content.whole() is None:
                return True
            with self._lock:
                return _is_only_there(node) and self._sessions.take_up(node).content.whole() is None

    def _begun(self, entry: Entry, made_of: str = "") -> Staged:
        facts = Facts(mode=entry.mode, owner=entry.owner)
        staged = self._nodes.stage.begin(made_of=made_of, facts=facts, before=entry.modified)
        staged.there = entry.size
        return staged


def _is_only_there(node: Node) -> bool:
    """True if somebody reads the file, and as far as the node knows only the backend has it."""
    if node.entry.kind is not Kind.FILE or not node.opens or node.staged or node.backing:
        return False
    return 0 < node.entry.size <= _PARTING


def _fill(staged: Staged, entry: Entry, content: Content, size: int) -> None:
    offset = 0
    while offset < size:
        answer = content.read(offset, min(_PIECE, size - offset))
        data = answer.result() if isinstance(answer, Future) else answer
        if not data:
            raise failure(errno.EIO, entry.path, f"it ends after {offset} of {entry.size} bytes")
        offset += os.pwrite(staged.descriptor, data, offset)
