"""Locks of ranges of one file, as POSIX has them."""

from __future__ import annotations

import errno
import fcntl
import os
from concurrent.futures import Future
from dataclasses import replace

from pf_fuse.operations import Lock


class Locks:
    """Who holds which range, and who waits for one."""

    def __init__(self) -> None:
        self.held: list[Lock] = []
        self.waiting: list[tuple[Lock, Future[None]]] = []

    def in_the_way(self, lock: Lock) -> Lock | None:
        for other in self.held:
            overlaps = other.start <= lock.end and lock.start <= other.end
            if overlaps and other.owner != lock.owner and fcntl.F_WRLCK in (other.kind, lock.kind):
                return other
        return None

    def set(self, lock: Lock, wait: bool) -> Future[None] | None:
        if lock.kind == fcntl.F_UNLCK:
            self._replace(lock)
            self._grant()
            return None
        if self.in_the_way(lock) is None:
            self._replace(lock)
            self._grant()
            return None
        if not wait:
            raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        future: Future[None] = Future()
        self.waiting.append((lock, future))
        return future

    def drop(self, owner: int) -> None:
        self.held = [lock for lock in self.held if lock.owner != owner]
        self._grant()

    def _replace(self, lock: Lock) -> None:
        kept = []
        for other in self.held:
            if other.owner != lock.owner or other.end < lock.start or lock.end < other.start:
                kept.append(other)
                continue
            if other.start < lock.start:
                kept.append(replace(other, end=lock.start - 1))
            if other.end > lock.end:
                kept.append(replace(other, start=lock.end + 1))
        self.held = kept + ([lock] if lock.kind != fcntl.F_UNLCK else [])

    def _grant(self) -> None:
        waiting, self.waiting = self.waiting, []
        for lock, future in waiting:
            if future.cancelled():
                continue
            if self.in_the_way(lock) is None and future.set_running_or_notify_cancel():
                self._replace(lock)
                future.set_result(None)
            else:
                self.waiting.append((lock, future))
