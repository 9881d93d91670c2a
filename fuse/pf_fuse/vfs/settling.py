"""Having the backend have what was written to files.

While a file is uploaded, whoever would write to it waits.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path

from pf_backends.entries import Facts, Kind
from pf_backends.errors import Changed, Unreachable
from pf_fuse.staging.staged import Staged
from pf_fuse.staging.uploading import PUT_MOST, Sent, Uploader, print_of
from pf_fuse.threads import crew
from pf_fuse.vfs.bringing import Bringing
from pf_fuse.vfs.nodes import Node
from pf_fuse.vfs.quota import Quota
from pf_fuse.vfs.sessions import Sessions
from pf_fuse.vfs.tree import Tree

logger = logging.getLogger(__name__)

AT_ONCE = 8
"""Files that are uploaded where nobody waits for a certain one."""
_MAYBE = 4
"""Uploads of a file of which the backend has not said what became of them, that are remembered."""


class Settling:
    """Uploads, and what must not happen amid them."""

    def __init__(
        self, tree: Tree, sessions: Sessions, bringing: Bringing, uploader: Uploader, quota: Quota, *, aside: Path
    ) -> None:
        self._tree = tree
        self._nodes = tree.nodes
        self._lock = tree.lock
        self._sessions = sessions
        self._bringing = bringing
        self._uploader = uploader
        self._quota = quota
        can = uploader.backend.capabilities
        self._times = can.modes and can.precision == 1
        """True if the backend keeps the times at which files were written, exactly."""
        self._aside = aside
        """Where goes what cannot be uploaded."""
        self._removals: dict[int, Future[None]] = {}
        """Of files that somebody tries to remove, which may fail."""

    def settle(self, node: Node) -> None:
        """The backend has all that was written to the file so far, unless it is removed. Blocks."""
        while True:
            with self._lock:
                settle, removal = self.begun(node), self._removals.get(node.id)
            settle()
            if removal is None:
                return
            removal.result()

    def begun(self, node: Node) -> Callable[[], object]:
        """Nobody writes to the file before what is given is called, which is as `settle`. The caller holds the lock."""
        staged = node.staged
        # Since somebody asked for it, it may have been removed, or uploaded by somebody else.
        if staged is None or not waits(node):
            return _settled
        path, done = node.path, Future[None]()
        with staged.gate:
            under_way = staged.upload
            staged.upload = under_way or done
        return under_way.result if under_way else lambda: self._settle(node, staged, path, done)

    def _settle(self, node: Node, staged: Staged, path: str, done: Future[None]) -> None:
        try:
            self._send(node, staged, path)
        except BaseException as error:
            staged.upload = None
            done.set_exception(error)
            raise
        staged.upload = None
        done.set_result(None)

    def written(self, node: Node, staged: Staged, start: int, end: int) -> None:
        """Bytes of the file are others now; what of a large file was written in sequence is sent already."""
        staged.written(start, end)
        if staged.front > PUT_MOST and not (staged.ahead or self._times or node.unlinked):
            staged.ahead = self._uploader.ahead(staged.descriptor, lambda: self._target(node, staged))

    def closed(self, node: Node) -> None:
        """Somebody closes it; what was written is needed no more once nobody has it open. Blocks."""
        while True:
            try:
                self.settle(node)
            except BaseException as error:
                with self._lock:
                    if node.id in self._removals:
                        continue
                    self._keep(node, error, others=node.opens - 1)
                    self._close(node)
                raise
            with self._lock:
                if node.opens > 1 or not (waits(node) or node.id in self._removals):
                    # Not later: of two who close it at once one is the last.
                    self._close(node)
                    return

    def closed_at_once(self, node: Node) -> None:
        """The same where nothing waits to be uploaded. The caller holds the lock."""
        self._close(node)

    def changed_by_name(self, node: Node) -> None:
        """It was changed, and maybe nobody has it open. Blocks."""
        try:
            self.settle(node)
        except OSError as error:
            with self._lock:
                self._keep(node, error, others=node.opens)
            raise
        finally:
            with self._lock:
                if not node.opens and node.id not in self._removals:
                    self._end(node)

    def left(self, node: Node) -> None:
        """A mount before was to upload it. What cannot be uploaded now is tried again at the end. Blocks."""
        try:
            self.settle(node)
        except OSError as error:
            if not (node.nameless or isinstance(error, Changed)):
                logger.warning("not uploaded yet", extra={"path": node.entry.path, "why": str(error)})
                return
            with self._lock:
                self._keep(node, error, others=node.opens)
        with self._lock:
            if not node.opens and not going(node):
                self.ended(node)

    def refused(self, node: Node, error: OSError) -> bool:
        """It can never be uploaded; False if somebody has it open, who may try. The caller holds the lock."""
        return self._keep(node, error, others=node.opens)

    def ended(self, node: Node) -> None:
        """Nobody has it open, and the backend has all of it. The caller holds the lock."""
        self._end(node)
        self._nodes.clear(node)

    def finish(self) -> None:
        """The backend has all that was written; fails with the first thing that it does not take. Blocks."""
        with self._lock:
            waiting = [node for node in self._nodes.all() if matters(node)]
        with crew(AT_ONCE, "settle") as settlers:
            settling = [settlers.submit(self.settle, node) for node in waiting]
        for each in settling:
            each.result()

    @contextmanager
    def still(self, node: Node) -> Iterator[Node]:
        """Holds the lock, and nothing of the file is being uploaded. Blocks."""
        while True:
            with self._lock:
                upload = uploading(node)
                if upload is None:
                    yield node
                    return
            upload.exception()

    @contextmanager
    def resting(self, nodes: Sequence[Node]) -> Iterator[None]:
        """The backend has all that was written to files; who would write to one of them waits. Blocks."""
        done = Future[None]()
        resting = list[Staged]()
        try:
            for node in nodes:
                if staged := self._rested(node, done):
                    resting.append(staged)
            with self._parting(nodes, done):
                yield
        finally:
            for staged in resting:
                staged.upload = None
            done.set_result(None)

    @contextmanager
    def leaving(self, node: Node | None) -> Iterator[None]:
        """What was written to the file needs not be kept if the block succeeds; nothing is uploaded amid it. Blocks."""
        if node is None:
            yield
            return
        decided = Future[None]()
        with self._lock:
            node.unlinked = True
            self._removals[node.id] = self._sessions.parting[node.id] = decided
            upload = uploading(node)
        try:
            # From here on nobody else opens it.
            self._bringing.before_it_goes(node)
            if upload:
                upload.exception()
            yield
        except BaseException:
            node.unlinked = False
            raise
        finally:
            with self._lock:
                self._decided(node)
            decided.set_result(None)
        with self._lock:
            if node.staged:
                node.staged.drop_ahead()

    def counts(self, node: Node) -> bool:
        """False of what was removed: nobody has a name for it any more."""
        return not node.unlinked or node.id in self._removals

    def _decided(self, node: Node) -> None:
        """It was removed, or could not be. The caller holds the lock."""
        # What is written at the same moment is counted, or is written after it.
        with node.staged.gate if node.staged else nullcontext():
            self._removals.pop(node.id, None)
            self._sessions.parting.pop(node.id, None)
            if node.unlinked and node.entry.kind is Kind.FILE:
                self._quota.take(node.name, -node.entry.size, files=-1)
        if node.unlinked and node.folder:
            # Who has waited to open it, and looks again, is not to find it by what was known before.
            self._tree.ask_again(node)

    @contextmanager
    def _parting(self, nodes: Sequence[Node], until: Future[None]) -> Iterator[None]:
        """Who opens a file, or finds it where it was no more, waits for that."""
        parting = self._sessions.parting
        with self._lock:
            parting |= {node.id: until for node in nodes}
        try:
            yield
        finally:
            with self._lock:
                for node in nodes:
                    parting.pop(node.id, None)

    def _rested(self, node: Node, until: Future[None]) -> Staged | None:
        while True:
            with self._lock:
                settle = self.begun(node)
            settle()
            with self.still(node):
                staged = node.staged
                if staged is None or node.unlinked:
                    return None
                if not staged.dirty:
                    with staged.gate:
                        staged.upload = until
                    return staged

    def _send(self, node: Node, staged: Staged, path: str) -> None:
        staged.facts = facts = self._all_facts(staged.facts, path)
        if self._times:
            facts = replace(facts, modified=staged.modified())
        try:
            entry, timed = self._sent(staged, path, facts)
        except Unreachable:
            self._may_have_arrived(node, staged)
            raise
        with self._lock:
            node.entry = entry
            if node.folder:
                self._tree.put(node.folder, node.name, entry)
                if not timed:
                    self._tree.ask_again(node)
            # Last: a journal that takes no more must not keep what the backend has from being seen.
            self._nodes.arrived(node, staged, entry)

    def _may_have_arrived(self, node: Node, staged: Staged) -> None:
        """The backend has not said what became of an upload. One that is tried often is remembered once."""
        if staged.printed is None or staged.printed[0] != staged.changes:
            staged.printed = staged.changes, print_of(staged.descriptor, staged.size)
        now = staged.printed[1]
        maybe = (*[each for each in staged.maybe if each != now], now)[-_MAYBE:]
        if maybe == staged.maybe:
            return
        with self._lock:
            before, staged.maybe = staged.maybe, maybe
            try:
                self._nodes.staged_otherwise(node, staged)
            except OSError:
                staged.maybe = before
                raise

    def _sent(self, staged: Staged, path: str, facts: Facts) -> Sent:
        ahead, staged.ahead = staged.ahead, None
        try:
            return self._uploader.send(path, staged.descriptor, staged.size, facts, staged.condition, ahead)
        except Changed:
            # The process before may have sent it, and was killed before it was told so.
            found = self._uploader.found(path, staged.descriptor, staged.size)
            earlier = None if found else self._uploader.stored(path, staged.maybe)
            if earlier is None:
                if found is None:
                    raise
                return Sent(found)
            staged.made_of, staged.only_new = earlier.version, False
            return self._uploader.send(path, staged.descriptor, staged.size, facts, staged.condition)

    def _target(self, node: Node, staged: Staged) -> tuple[str, Facts]:
        """Where a file that is still written will go, and what it is to keep as far as that is known."""
        with self._lock:
            path, facts = node.path, replace(staged.facts, modified=None)
        return path, self._all_facts(facts, path)

    def _all_facts(self, facts: Facts, path: str) -> Facts:
        """With the attributes of the file whose place it takes."""
        backend = self._uploader.backend
        if facts.attributes is not None or not backend.capabilities.attributes:
            return facts
        with suppress(FileNotFoundError):
            return replace(facts, attributes=backend.attributes(path).attributes)
        return facts

    def _close(self, node: Node) -> None:
        """Also if that cannot be written down. The caller holds the lock."""
        try:
            if node.opens <= 1:
                self._end(node)
        finally:
            self._sessions.close(node)

    def _end(self, node: Node) -> None:
        self._sessions.end(node)
        self._nodes.end(node)

    def _keep(self, node: Node, error: BaseException, *, others: int) -> bool:
        """What was written and cannot be uploaded is put aside, unless others have it open, who try it again."""
        if not waits(node) or not node.staged or others > 0:
            return False
        more, new = node.staged.more, node.staged.there is None
        kept = self._nodes.stage.keep(node.staged, self._aside, node.name)
        self._quota.correct(-more, files=-int(new))
        node.staged, node.until = None, 0.0
        logger.error("not uploaded", extra={"path": node.entry.path, "kept": str(kept), "why": str(error)})
        return True


def _settled() -> None:
    """Nothing is to be done."""


def uploading(node: Node) -> Future[None] | None:
    return node.staged.upload if node.staged else None


def waits(node: Node) -> bool:
    """True if the backend does not have all that was written, and should."""
    return bool(node.staged and node.staged.dirty and not node.unlinked)


def matters(node: Node) -> bool:
    """True if what was written must not be lost: also while somebody tries to remove it."""
    return waits(node) or going(node)


def going(node: Node) -> bool:
    """True if the backend does not have all that was written, and somebody tries to remove it, which may fail."""
    return bool(node.staged and node.staged.dirty and node.unlinked and not node.nameless)
