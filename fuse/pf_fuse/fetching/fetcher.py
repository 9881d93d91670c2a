"""Where the bytes of a mount come from: the page cache, memory, and the backend."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace

from pf_backends.entries import Entry
from pf_backends.errors import Changed, unreachable
from pf_fuse.arriving import once
from pf_fuse.coming import Coming
from pf_fuse.fetching.common import Common, Counts, Source
from pf_fuse.fetching.memory import Memory
from pf_fuse.fetching.ordering import Neighbours, Nobody, Order
from pf_fuse.fetching.reading import Reading
from pf_fuse.fetching.settings import FetchSettings
from pf_fuse.fetching.turns import Turns
from pf_fuse.fetching.watching import Watch
from pf_fuse.fetching.working import Work
from pf_fuse.operations import Answer, Bytes
from pf_fuse.pages.cache import PageCache
from pf_fuse.pages.file import CachedFile
from pf_fuse.pages.keys import Key
from pf_fuse.porters.team import Listening, Team
from pf_fuse.threads import started, started_if_room

CHECKED_AT_ONCE = 4 * 1024 * 1024
"""Larger files are checked by a worker before they are handed out, so that nobody waits for it."""
KEPT = 4096
"""Files that nobody has open and of which there is something in memory, but nothing on a disk."""


@dataclass(frozen=True, slots=True)
class FetchStats:
    """How a mount fetches."""

    counts: Counts
    memory: int
    """Bytes."""
    memory_peak: int
    waiting: int
    """Requests, and files that may be fetched ahead."""
    open: int
    """Files."""


class OpenFile:
    """A file that somebody has open."""

    __slots__ = ("_fetcher", "_reading")

    def __init__(self, fetcher: Fetcher, reading: Reading) -> None:
        self._fetcher = fetcher
        self._reading = reading

    def read(self, offset: int, size: int) -> Answer[Bytes]:
        """As many bytes as are asked for, fewer only at the end; ESTALE if the backend has another version by now."""
        reading = self._reading
        if reading.untouched and (coming := self._fetcher.coming(reading.entry)):
            return once(coming.found, lambda: self._come(coming.found, offset, size))
        return reading.read(offset, size)

    def whole(self) -> int | None:
        """A descriptor of a local file that has all of it, was checked, and stays as it is as long as this is open.

        None if there is none so far. A large file that was not checked since the process began is checked now, and
        there will be one later.
        """
        file = self._reading.file
        if file.complete and not file.checked:
            if file.size > CHECKED_AT_ONCE:
                self._fetcher.check(self._reading)
                return None
            file.verify()
        descriptor = file.fix()
        return descriptor if descriptor >= 0 else None

    def checked(self) -> int | None:
        """As `whole`, if all of it was checked already, or is soon checked: what is large is checked as it is read."""
        file = self._reading.file
        return self.whole() if file.checked or file.size <= CHECKED_AT_ONCE else None

    def close(self) -> None:
        self._fetcher.close(self._reading)

    def _come(self, found: Future[Entry | None], offset: int, size: int) -> Answer[Bytes]:
        """Fails as bringing it has."""
        found.result()
        return self._reading.read(offset, size)


class Fetcher:
    """The bytes of all files of a backend. May be used by any number of threads."""

    def __init__(
        self,
        source: Source,
        cache: PageCache,
        settings: FetchSettings | None = None,
        neighbours: Neighbours | None = None,
        team: Team | None = None,
        lasting: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`lasting`: what was told of a file once is taken for true for long, so that fetching it early pays."""
        settings = settings or FetchSettings()
        lock = threading.Lock()
        self._common = Common(
            source=source,
            cache=cache,
            settings=settings,
            lock=lock,
            memory=Memory(settings.memory, settings.block),
            turns=Turns(lock, self._hire),
            watch=Watch(lock, clock),
            freed=threading.Condition(lock),
        )
        self._order = Order(neighbours or Nobody(), settings.files_ahead, settings.small, keeps=cache.keeps)
        self._team = team
        self._early = lasting and team is not None
        self._work = Work(self._common, self._hold, self._let_go)
        self._readings: dict[Key, Reading] = {}
        self._kept: OrderedDict[Key, Reading] = OrderedDict()
        self._workers: list[threading.Thread] = []

    def begin(self, listening: Listening) -> None:
        """Whoever hears what other processes say is there."""
        if self._team:
            self._team.begin(listening)

    def open(self, entry: Entry) -> OpenFile:
        """The version of a file that an entry tells of."""
        reading = self._hold(entry, opens=1)
        if entry.size <= self._common.settings.small:
            self._open_next(entry, here=reading.file.complete)
        return OpenFile(self, reading)

    def at_hand(self, entry: Entry) -> bool:
        """True if all of that version is known to be on the disk, and was checked."""
        return self._common.cache.at_hand(Key(self._common.source.address, entry.path, entry.version), entry.size)

    def alone(self) -> None:
        """Nobody hears other processes any more."""
        if self._team:
            self._team.end()

    def coming(self, entry: Entry) -> Coming | None:
        """As `bring`, by another process; None if none does it, or none needs to."""
        return self._team.carry(entry) if self._team and self._brings(entry) else None

    def bring(self, entry: Entry) -> Entry | None:
        """Fetches a small file, and says what lies there by now; None if that is another one, or it is here already.

        Fails if the backend does, so that nobody waits for it twice.
        """
        if not self._brings(entry):
            return None
        begun = time.monotonic()
        if coming := self.coming(entry):
            found = coming.found.result()
            return found if coming.since >= begun else None
        reading = self._hold(entry)
        with self._common.lock:
            fetch = reading.claim()
        if fetch is None:
            reading.file.verify()
            self._let_go(reading)
            return None
        self._work.fetch(fetch)
        if fetch.error and not isinstance(fetch.error, Changed):
            raise fetch.error
        return fetch.found

    def _brings(self, entry: Entry) -> bool:
        return bool(entry.version) and 0 < entry.size <= self._common.settings.small

    def close(self, reading: Reading) -> None:
        with self._common.lock:
            reading.opens -= 1
            if not reading.opens:
                reading.cancel()
        self._let_go(reading)

    def check(self, reading: Reading) -> None:
        """Has a worker check what of a file is on the disk."""
        with self._common.lock:
            if not reading.checking:
                reading.checking = True
                reading.holds += 1
                self._common.turns.later([reading])

    def stats(self) -> FetchStats:
        common, counts = self._common, self._common.counts
        if self._team:
            others = self._team.counts
            counts = replace(
                counts,
                fetched=counts.fetched + others.fetched,
                requests=counts.requests + others.requests,
                failures=counts.failures + others.failures,
            )
        return FetchStats(counts, common.memory.used, common.memory.peak, common.turns.waiting, len(self._readings))

    @property
    def porters(self) -> Sequence[int]:
        """Processes that fetch for it."""
        return self._team.processes if self._team else ()

    def end(self, patience: float = 1.0) -> None:
        """Nothing is fetched any more, and whoever waits is told so. Requests under way may end later."""
        self.alone()
        with self._common.lock:
            self._common.turns.end()
            waits = self._common.watch.end()
        for wait in waits:
            wait.failed(unreachable(wait.path, "the mount ends"))
        until = time.monotonic() + patience
        for worker in self._workers:
            worker.join(max(0.0, until - time.monotonic()))

    def _open_next(self, entry: Entry, *, here: bool) -> None:
        expected = self._order.opened(entry.path, here=here, far=self._early or self._common.pace.far)
        if self._team:
            expected = [each for each in expected if self._team.carry(each, ahead=True) is None]
        if expected:
            with self._common.lock:
                if self._common.turns.waiting < 2 * self._common.settings.files_ahead:
                    self._common.turns.later(expected)

    def _hire(self) -> None:
        """Another worker, if there may be more; OSError if there is none. The caller holds the lock."""
        # One that met a fault has ended.
        self._workers = [worker for worker in self._workers if worker.is_alive()]
        if len(self._workers) < self._common.settings.at_once:
            begin = started_if_room if self._workers else started
            worker = begin("pf-fetch", self._work.run)
            self._workers += [worker] if worker else []

    def _hold(self, entry: Entry, opens: int = 0) -> Reading:
        common = self._common
        key = Key(common.source.address, entry.path, entry.version)
        with common.lock:
            known = self._readings.get(key)
            if known and known.entry.size == entry.size:
                return self._held(known, key, opens)
        # Bytes of which nobody can tell later whether they are the same are kept nowhere.
        file = common.cache.open(key, entry.size) if entry.version else CachedFile(key, "", entry.size, None)
        made = Reading(common, entry, key, file)
        with common.lock:
            known = self._readings.setdefault(key, made)
            if known is made or known.entry.size != entry.size:
                return self._held(made, key, opens)
            self._held(known, key, opens)
        common.cache.close(made.file)
        return known

    def _held(self, reading: Reading, key: Key, opens: int) -> Reading:
        reading.holds += 1
        reading.opens += opens
        if opens:
            reading.opened()
        self._kept.pop(key, None)
        return reading

    def _let_go(self, reading: Reading) -> None:
        """Somebody needs it no more."""
        gone: list[Reading] = []
        with self._common.lock:
            reading.holds -= 1
            if not reading.holds:
                if reading.worth_keeping:
                    self._kept[reading.key] = reading
                else:
                    gone.append(reading)
                while self._kept and (len(self._kept) > KEPT or not next(iter(self._kept.values())).blocks):
                    gone.append(self._kept.popitem(last=False)[1])
                for each in gone:
                    self._forget(each)
        for each in gone:
            self._common.cache.close(each.file)

    def _forget(self, reading: Reading) -> None:
        """The caller holds the lock."""
        if self._readings.get(reading.key) is reading:
            del self._readings[reading.key]
        for block in set(reading.blocks.values()):
            self._common.memory.drop(block)
        self._common.turns.fed()
