"""Extended attributes."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor

from pf_backends.entries import Facts
from pf_backends.errors import failure
from pf_backends.port import Backend
from pf_fuse.operations import TOP, Answer
from pf_fuse.vfs.keeping import Keeping
from pf_fuse.vfs.nodes import Node
from pf_fuse.vfs.tree import Tree

_OWN = b"user."


class Extras:
    """The operations on extended attributes, those of users; the top has none."""

    def __init__(
        self, backend: Backend, tree: Tree, keeping: Keeping, settle: Callable[[Node], None], workers: Executor
    ) -> None:
        """`settle`: has the backend have all that was written to a file."""
        self._backend = backend
        self._nodes = tree.nodes
        self._lock = tree.lock
        self._keeping = keeping
        self._settle = settle
        self._later = workers.submit
        self._kept = backend.capabilities.attributes

    def getxattr(self, node: int, name: bytes) -> Answer[bytes]:
        self._require_own(name)
        return self._later(self._get, self._nodes[node], os.fsdecode(name))

    def listxattr(self, node: int) -> Answer[Sequence[bytes]]:
        if not self._kept or node == TOP:
            return []
        return self._later(self._list, self._nodes[node])

    def setxattr(self, node: int, name: bytes, value: bytes, flags: int) -> Answer[None]:
        self._require_own(name)
        return self._later(self._set, self._nodes[node], os.fsdecode(name), value, flags)

    def removexattr(self, node: int, name: bytes) -> Answer[None]:
        self._require_own(name)
        return self._later(self._set, self._nodes[node], os.fsdecode(name), None, os.XATTR_REPLACE)

    def _get(self, node: Node, name: str) -> bytes:
        if node.id == TOP:
            raise failure(errno.ENODATA, name, "the top has no attributes")
        value = self._attributes(node).get(name)
        if value is None:
            raise failure(errno.ENODATA, name, "there is no such attribute")
        return value

    def _list(self, node: Node) -> Sequence[bytes]:
        return [os.fsencode(name) for name in self._attributes(node)]

    def _attributes(self, node: Node) -> Mapping[str, bytes]:
        """Of a file that the backend does not have yet, or has no more: those that are kept here, as far as any are."""
        staged = node.staged
        if staged and (staged.dirty or node.nameless) and staged.facts.attributes is not None:
            return staged.facts.attributes
        return self._backend.attributes(node.path).attributes or {}

    def _set(self, node: Node, name: str, value: bytes | None, flags: int) -> None:
        if node.id == TOP:
            raise failure(errno.EPERM, name, "the top has no attributes")
        if not node.nameless:
            self._settle(node)
        facts = Facts(attributes=_changed(self._attributes(node), name, value, flags))
        if not self._kept_here(node, facts):
            self._keeping.there(node, node.path, facts)

    def _kept_here(self, node: Node, facts: Facts) -> bool:
        """True if no name leads to it any more: what is set lasts as long as it is open."""
        with self._lock:
            if node.nameless:
                self._keeping.here(node, facts)
            return node.nameless

    def _require_own(self, name: bytes) -> None:
        """Programs such as ls ask of each file for attributes that nothing here has."""
        if not self._kept:
            # The kernel takes that for final, and asks no more.
            raise failure(errno.ENOSYS, os.fsdecode(name), "attributes cannot be kept here")
        if not name.startswith(_OWN):
            raise failure(errno.ENOTSUP, os.fsdecode(name), "attributes of users can be kept here, and no others")


def _changed(known: Mapping[str, bytes], name: str, value: bytes | None, flags: int) -> Mapping[str, bytes]:
    if flags & os.XATTR_CREATE and name in known:
        raise failure(errno.EEXIST, name, "there is such an attribute already")
    if flags & os.XATTR_REPLACE and name not in known:
        raise failure(errno.ENODATA, name, "there is no such attribute")
    others = {each: kept for each, kept in known.items() if each != name}
    return others if value is None else {**others, name: value}
