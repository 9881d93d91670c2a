"""What the journal is told of a node."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from pf_fuse.staging.staged import Staged
from pf_fuse.vfs.journal import NamedAt, OpenAt, StagedIn

if TYPE_CHECKING:
    from pf_fuse.vfs.nodes import Node

UNLINKED = -1
"""The folder of what was removed here."""


def named(node: Node) -> NamedAt:
    """Where it lies, or that it was removed."""
    folder = node.folder.id if node.folder else UNLINKED if node.unlinked else 0
    return NamedAt(node.id, folder, node.entry.kind, os.fsencode(node.name))


def opened(node: Node) -> OpenAt:
    """Which version is open."""
    entry = node.entry
    return OpenAt(node.id, os.fsencode(entry.path), entry.version, entry.size, entry.modified, node.past)


def written_here(node: Node, staged: Staged) -> StagedIn:
    """Where it is written, and what is known of that."""
    uploaded = replace(staged.uploaded, path="") if staged.uploaded and not staged.dirty else None
    known = staged.made_of, staged.only_new, staged.facts, uploaded
    return StagedIn(node.id, staged.file.name, *known, staged.owed, staged.sending, tuple(staged.maybe), staged.there)
