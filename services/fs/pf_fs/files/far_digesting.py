"""Tells files behind servers, and folders with all in them, by digests: the same ones as files of the machine have."""

from __future__ import annotations

from hashlib import sha256
from typing import TypeAlias

from paddleflow.problems import FileUnusable
from pf_backends.entries import Entry, Kind
from pf_backends.errors import Changed
from pf_backends.port import Backend
from pf_fs.files.budget import Budget, Spent
from pf_fs.files.digesting import MOST_THINGS, eight, hashed
from pf_fs.files.domain import MOST_LEVELS, DigestMode
from pf_fs.files.remembering import Begun, Memory
from pf_kit.fields import shown

PAGE = 1000
PIECE = 4 * 1024 * 1024
"""Bytes that are read at once."""
_EXECUTABLE = 0o100
Tree: TypeAlias = dict[bytes, "Tree | Entry"]


class Digesting:
    """The digest of one path."""

    def __init__(
        self, backend: Backend, place: str, path: str, mode: DigestMode, memory: Memory, budget: Budget
    ) -> None:
        """`place` is called otherwise as soon as it could be another one."""
        self._backend = backend
        self._place = place
        self._path = path
        self._mode = mode
        self._memory = memory
        self._budget = budget

    def digest(self) -> bytes:
        """Raises Spent, FileUnusable, and what backends do."""
        entry = self._backend.stat(self._path)
        if entry.kind is Kind.LINK:
            raise FileUnusable(f"{shown(self._path)} is a link: say where it leads")
        return self._tree(self._below()) if entry.kind is Kind.FOLDER else self._thing(entry)

    def _below(self) -> Tree:
        """All that lies in a folder."""
        tree: Tree = {}
        found, rest = 0, ""
        start = len(self._path) + 1 if self._path else 0
        while True:
            self._budget.check_wanted()
            page = self._backend.walk(self._path, rest=rest, limit=PAGE)
            found += len(page.entries)
            if found > MOST_THINGS[self._mode]:
                raise FileUnusable(f"{shown(self._path)} holds more than {MOST_THINGS[self._mode]} files")
            for entry in page.entries:
                self._put(tree, entry.path[start:], entry)
            if not (rest := page.rest):
                return tree

    def _put(self, tree: Tree, path: str, entry: Entry) -> None:
        names = path.encode(errors="surrogateescape").split(b"/")
        if len(names) > MOST_LEVELS:
            raise FileUnusable(f"{shown(self._path)} has more than {MOST_LEVELS} folders in one another")
        for name in names[:-1]:
            inner = tree.setdefault(name, {})
            if isinstance(inner, Entry):
                raise FileUnusable(f"{shown(entry.path)} lies in what is a file as well")
            tree = inner
        if entry.kind is Kind.FOLDER:
            tree.setdefault(names[-1], {})
        else:
            tree[names[-1]] = entry

    def _tree(self, tree: Tree) -> bytes:
        found = sha256(b"tree\0")
        for name in sorted(tree):
            thing = tree[name]
            digest = self._thing(thing) if isinstance(thing, Entry) else self._tree(thing)
            found.update(len(name).to_bytes(4, "big") + name + digest)
        return found.digest()

    def _thing(self, entry: Entry) -> bytes:
        if entry.kind is Kind.LINK:
            return hashed(b"link", entry.target.encode(errors="surrogateescape"))
        flag = b"x" if (entry.mode or 0) & _EXECUTABLE else b"-"
        if self._mode is DigestMode.TIME:
            # Times of servers are often of seconds, in which much can happen.
            known_by = sha256(entry.version.encode()).digest() if entry.version else eight(entry.modified)
            return hashed(b"time", flag + eight(entry.size) + known_by)
        return hashed(b"file", flag + self._content(entry))

    def _content(self, entry: Entry) -> bytes:
        called = "\0".join((self._place, entry.path, entry.version, str(entry.size)))
        key = sha256(called.encode(errors="surrogateescape")).digest()
        if (known := self._memory.known(key)) is not None:
            return known
        self._budget.check()
        begun = self._memory.begin(key, entry.modified)
        try:
            self._read(entry, key, begun)
        except Changed:
            raise FileUnusable(f"{shown(entry.path)} is being written; ask again when it is complete") from None
        self._memory.finish(key, begun)
        return begun.digest

    def _read(self, entry: Entry, key: bytes, begun: Begun) -> None:
        buffer = memoryview(bytearray(min(PIECE, entry.size)))
        while begun.offset < entry.size:
            count = self._backend.read(entry.path, begun.offset, buffer, version=entry.version)
            if not count:
                raise FileUnusable(f"{shown(entry.path)} ends before its {entry.size} bytes")
            begun.add(bytes(buffer[:count]))
            try:
                if begun.offset < entry.size:
                    self._budget.check()
            except Spent:
                self._memory.pause(key, begun)
                raise
