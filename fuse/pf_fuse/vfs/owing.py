"""What was closed is uploaded later, and is not lost until then.

Whoever closes a file goes on once its bytes, and a note that the backend is to have them, are on the disk: whatever is
killed or goes down, a later process uploads them. There are bounds for how much may wait, and for how long: beyond them
whoever closes a file waits until it is uploaded, and is told if it cannot be.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import dataclass

from pf_fuse.staging.disk import DiskFailed, of_disk
from pf_fuse.staging.refusals import is_refusal
from pf_fuse.staging.staged import Staged
from pf_fuse.threads import crew, started
from pf_fuse.vfs.debts import Debt, Debts
from pf_fuse.vfs.nodes import Node
from pf_fuse.vfs.sessions import Sessions
from pf_fuse.vfs.settling import AT_ONCE, Settling, going, matters, waits
from pf_fuse.vfs.tree import Tree

logger = logging.getLogger(__name__)

_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0
"""Seconds until a file is tried again for which the backend did not answer."""
_LOOK = 0.25
_LEAVING = 3600.0
"""Seconds after the end of the mount until what cannot be uploaded is left for the next one."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Of what was closed and is not uploaded."""

    bytes: int
    age: float
    """Seconds."""
    files: int
    """Each of them is open here until it is uploaded."""


@dataclass(frozen=True, slots=True)
class Owed:
    """What is not uploaded yet."""

    files: int
    bytes: int
    age: float
    """Seconds since the oldest of it was closed."""
    refused: int
    """Files that were put aside since the process began."""
    why: str
    """Why the last one could not be uploaded; empty: there was none."""


class Owing:
    """All of it. For many threads."""

    def __init__(
        self,
        tree: Tree,
        sessions: Sessions,
        settling: Settling,
        bounds: Bounds,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._nodes = tree.nodes
        self._lock = tree.lock
        self._sessions = sessions
        self._settling = settling
        self._bounds = bounds
        self._clock = clock
        self._payers = crew(AT_ONCE, "pay")
        self._debts = Debts()
        self._refused = 0
        self._why = ""
        self._ended = threading.Event()

    def begin(self) -> None:
        started("owe", self._try_again)

    def owe_left(self, may: Callable[[Node], bool]) -> None:
        """What processes before have left, of files that may be uploaded by now."""
        with self._lock:
            for node in list(self._nodes.all()):
                # To begin an upload that nobody goes on with would hold up whoever writes to the file.
                if self._debts.of(node) or not may(node):
                    continue
                if node.staged and waits(node) and (node.staged.owed or not node.opens):
                    # Only as long as nobody writes to it, it is what the backend may have.
                    sending = node.staged.sending and not node.nameless
                    self.owe(node, self._settling.begun(node) if sending else None)

    def end(self) -> None:
        """What is not uploaded by now the next process uploads."""
        with self._lock:
            self._ended.set()
            self._payers.shutdown(wait=False, cancel_futures=True)

    def flush(self, node: Node) -> None:
        """What was written to the file so far is not lost any more. Blocks."""
        with self._lock:
            staged = node.staged
            if staged is None or not matters(node) or staged.safe == staged.changes:
                return
            full, changes = waits(node) and self._is_full(node, staged), staged.changes
        if full:
            self._settling.settle(node)
            return
        self._nodes.stage.secure(staged)
        with self._lock:
            if node.staged is not staged or not matters(node):
                return
            written_down = self._nodes.owed(node, staged)
            self.owe(node)
        written_down()
        # Whoever has written to it meanwhile has it made safe again.
        staged.safe = changes

    def changed_by_name(self, node: Node) -> None:
        """It was changed, and maybe nobody has it open. Blocks."""
        try:
            self.flush(node)
        except OSError:
            with self._lock:
                if matters(node):
                    self.owe(node)
            raise
        with self._lock:
            if not (matters(node) or node.opens):
                self._settling.ended(node)

    def closed(self, node: Node) -> None:
        """Somebody closes it. Blocks."""
        # Whoever closed it was told when it was flushed.
        with suppress(OSError):
            self.flush(node)
        with self._lock:
            if not matters(node):
                self._settling.closed_at_once(node)
                return
            self.owe(node)
            self._sessions.leave(node)

    def owe(self, node: Node, begun: Callable[[], object] | None = None) -> None:
        """It will be uploaded, or goes on as it was begun. The caller holds the lock."""
        size = node.staged.size if node.staged else 0
        debt = self._debts.of(node)
        if debt:
            debt.again = True
            self._debts.resize(debt, size)
        else:
            debt = Debt(node, self._clock(), size, _FIRST_PAUSE)
            self._debts.add(debt)
            self._submit(debt, begun)

    def finish(self) -> None:
        """The backend has all that was written; fails with the first thing that it does not take. Blocks."""
        while under_way := self._under_way():
            wait(under_way)
        self._settling.finish()

    def leave(self) -> None:
        """The mount is gone: as `finish`, and what does not succeed is tried for long, then left. Blocks."""
        deadline = self._clock() + _LEAVING
        while self._is_tried():
            if self._clock() >= deadline:
                left = self.owed
                logger.error("left to the next mount here", extra={"files": left.files, "why": left.why})
                return
            self._ended.wait(_LOOK)
        self.finish()

    @property
    def owed(self) -> Owed:
        with self._lock:
            return Owed(len(self._debts), self._debts.bytes, self._age(), self._refused, self._why)

    def _is_full(self, node: Node, staged: Staged) -> bool:
        own = self._debts.of(node)
        size = self._debts.bytes + staged.size - (own.size if own else 0)
        others = len(self._debts) - (own is not None)
        bounds = self._bounds
        return size > bounds.bytes or others >= bounds.files or self._age() > bounds.age

    def _age(self) -> float:
        """Seconds since the oldest was closed. The caller holds the lock."""
        oldest, now = self._debts.oldest, self._clock()
        return 0.0 if oldest is None else now - oldest

    def _is_tried(self) -> bool:
        """Something is being uploaded, or will be tried again: where that failed by a fault, nobody waits for it."""
        with self._lock:
            return any(not (debt.faulty and debt.paid.done()) for debt in self._debts)

    def _under_way(self) -> list[Future[None]]:
        with self._lock:
            return [debt.paid for debt in self._debts if not debt.paid.done()]

    def _submit(self, debt: Debt, begun: Callable[[], object] | None = None) -> None:
        debt.paid = self._payers.submit(self._pay, debt, begun)
        debt.due = None

    def _pay(self, debt: Debt, begun: Callable[[], object] | None) -> None:
        try:
            self._attempt(debt, begun)
        except Exception as fault:
            logger.exception("not uploaded yet, by a fault", extra={"path": debt.node.entry.path})
            with self._lock:
                self._why, debt.faulty = repr(fault), True
                self._put_off(debt, None)

    def _attempt(self, debt: Debt, begun: Callable[[], object] | None) -> None:
        error = None
        try:
            (begun or self._begun(debt.node))()
        except OSError as failed:
            error = failed
        with self._lock:
            debt.faulty = False
            try:
                self._attempted(debt, error)
            except DiskFailed as failed:
                self._put_off(debt, failed)

    def _attempted(self, debt: Debt, error: OSError | None) -> None:
        """What comes after an attempt. The caller holds the lock."""
        node = debt.node
        if going(node) or (error and not is_refusal(error)):
            self._put_off(debt, error)
            return
        if error:
            self._why = str(error)
            with of_disk():
                self._refused += self._settling.refused(node, error)
        # What somebody tried to remove, and could not, was not sent.
        if waits(node) and (debt.again or not (node.opens or error)):
            self._go_on(debt)
            return
        if not node.opens and not waits(node):
            self._settling.ended(node)
        self._debts.remove(debt)

    def _go_on(self, debt: Debt) -> None:
        """Something else is to be uploaded now."""
        debt.again, debt.pause = False, _FIRST_PAUSE
        self._debts.begin_anew(debt, self._clock())
        self._submit(debt)

    def _begun(self, node: Node) -> Callable[[], object]:
        """An upload. Whoever comes after a process that was killed amid it is to know of it."""
        with self._lock:
            staged = node.staged
            if staged and waits(node) and not staged.sending:
                staged.sending = True
                try:
                    self._nodes.staged_otherwise(node, staged)
                except OSError:
                    staged.sending = False
                    raise
            return self._settling.begun(node)

    def _put_off(self, debt: Debt, error: OSError | None) -> None:
        """The caller holds the lock. No error: somebody tries to remove it, or it was told."""
        if error:
            logger.warning("not uploaded yet", extra={"path": debt.node.entry.path, "why": str(error)})
            self._why = str(error)
        debt.due = self._clock() + debt.pause
        debt.pause = min(2 * debt.pause, _LONGEST_PAUSE)

    def _try_again(self) -> None:
        while not self._ended.wait(_LOOK):
            try:
                self._submit_due()
            except Exception:
                # Nobody else tries again what is owed.
                logger.exception("not tried again yet")

    def _submit_due(self) -> None:
        now = self._clock()
        with self._lock:
            for debt in self._debts:
                if debt.due is not None and debt.due <= now and not self._ended.is_set():
                    self._submit(debt)
