"""Has everything asked for again that was told a moment ago, by this process and by the kernel."""

from __future__ import annotations

from collections.abc import Iterator

from pf_fuse.operations import Kernel
from pf_fuse.vfs.nodes import Node
from pf_fuse.vfs.tree import Tree


def renew(tree: Tree, kernel: Kernel) -> None:
    """Whoever looks from now on sees what the backend has now. Who has a file open goes on with what it opened."""
    now, _ = tree.moment()
    with tree.lock:
        names = [(node.id, name) for node in tree.nodes.all() for name in _told_of(node, now)]
    for folder, name in names:
        kernel.forget_name(folder, name.encode(errors="surrogateescape"))
    kernel.settle()


def _told_of(folder: Node, now: float) -> Iterator[str]:
    """Names that the kernel may still take for true; they are not taken for true here any more."""
    if folder.listing:
        folder.listing.until = 0.0
    for node in folder.within():
        # What is written here is so whatever the backend has.
        if node.until > now and not node.staged:
            node.until = 0.0
            yield node.name
    yield from (name for name, until in (folder.absent or {}).items() if until > now)
    folder.absent = None
