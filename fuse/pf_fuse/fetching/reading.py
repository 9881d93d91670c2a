"""A file that is open for reading."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pf_backends.entries import Entry
from pf_backends.errors import unreachable
from pf_fuse.fetching.common import Common
from pf_fuse.fetching.fetches import Fetch, Wait
from pf_fuse.fetching.memory import Block
from pf_fuse.fetching.pattern import Pattern, requests
from pf_fuse.operations import Answer, Bytes
from pf_fuse.pages.file import CachedFile
from pf_fuse.pages.keys import PAGE, Extent, Key


class Reading:
    """The bytes of one version of a file, for all who have it open."""

    __slots__ = (
        "_common",
        "_pattern",
        "blocks",
        "checking",
        "entry",
        "error",
        "file",
        "flying",
        "holds",
        "key",
        "opens",
        "times",
    )

    def __init__(self, common: Common, entry: Entry, key: Key, file: CachedFile) -> None:
        self.entry, self.key, self.file = entry, key, file
        self.holds = 0
        """How many need it: those who have it open, and workers."""
        self.opens = 0
        """How many have it open."""
        self.times = 0
        """How often it was opened."""
        self.checking = False
        """A worker checks what is on the disk, or will."""
        self.blocks: dict[int, Block] = {}
        """What is in memory, by pages."""
        self.flying: dict[int, Fetch] = {}
        """What is being fetched or will be, by pages."""
        self.error: OSError | None = None
        """The backend had another version since it was opened last."""
        self._common = common
        self._pattern = Pattern(common.settings.block)

    def read(self, offset: int, size: int) -> Answer[Bytes]:
        """As many bytes as are asked for, fewer only at the end of the file."""
        if self.file.complete:
            data = self.file.read(offset, size)
            if data is not None:
                self._common.counts.whole += len(data)
                return data
        end = min(offset + size, self.entry.size)
        if end <= offset:
            return b""
        with self._common.lock:
            self._common.counts.asked += end - offset
            view = self._in_memory(offset, end)
            if view is not None:
                self._fetch_ahead(self._observed(offset, end))
                return view
        data = self.file.read(offset, size)
        return self._wait(offset, end) if data is None else self._go_on(data, offset, end)

    @property
    def worth_keeping(self) -> bool:
        """There is something of it in memory that is not on a disk."""
        return bool(self.blocks) and self.file.fd < 0 and not self.error and bool(self.entry.version)

    @property
    def untouched(self) -> bool:
        """Nothing of it is here, or on its way, or known to be wrong."""
        return not (self.file.complete or self.blocks or self.flying or self.error)

    @property
    def unused(self) -> bool:
        """Nobody has it open."""
        return not self.opens

    def opened(self) -> None:
        """Opened once more: it may have been renamed to and fro since something failed. The caller holds the lock."""
        self.times += 1
        if self.error:
            self.error = None
            for fetch in set(self.flying.values()):
                if fetch.started:
                    self.landed(fetch)

    def claim(self) -> Fetch | None:
        """The request for a small file that is not here, for whoever does it at once. The caller holds the lock."""
        if self.file.complete or self.blocks or self.flying:
            return None
        fetch = Fetch(self, Extent(0, self.entry.size), whole=True)
        fetch.started = True
        self._fly(fetch)
        return fetch

    def cancel(self) -> None:
        """Nobody has it open: what nobody has begun to fetch is not fetched. The caller holds the lock."""
        for fetch in set(self.flying.values()):
            if not fetch.started and not fetch.wanted:
                self._common.turns.cancel(fetch)
                self.landed(fetch)

    def landed(self, fetch: Fetch) -> None:
        """It is not under way any more. The caller holds the lock."""
        fetch.ended = True
        flew = bool(self.flying)
        for page in fetch.pages:
            if self.flying.get(page) is fetch:
                del self.flying[page]
        if flew and not self.flying:
            self._common.streams -= 1

    def _go_on(self, data: bytes, start: int, end: int) -> bytes:
        with self._common.lock:
            self._fetch_ahead(self._observed(start, end))
        return data

    def _in_memory(self, start: int, end: int) -> memoryview | None:
        """Bytes that lie in one block."""
        block = self.blocks.get(start // PAGE)
        view = block.view(start, end) if block else None
        if block and view is not None:
            self._touch(block)
        return view

    def _touch(self, block: Block) -> None:
        self._common.memory.touch(block)
        self._common.turns.fed()

    def _wait(self, start: int, end: int) -> Answer[Bytes]:
        """Some of it is not here."""
        common = self._common
        wait = Wait(self.entry.path, start, end, common.watch.after(common.settings.deadline))
        missing = list(self._from_disk(wait))
        with common.lock:
            if common.turns.ended:
                raise unreachable(self.entry.path, "the mount ends")
            ahead = self._observed(start, end)
            self._ask(missing, wait)
            # From here on it may be given at any time.
            answer = wait.answer if wait.lacks else None
            if answer:
                common.counts.waited += end - start
                common.watch.add(wait)
            self._fetch_ahead(ahead)
        return answer or wait.bytes

    def _from_disk(self, wait: Wait) -> Iterator[Extent]:
        """Takes what is on the disk; whole pages that are not, or cannot be read."""
        at = wait.start
        for gap in [*self.file.missing(wait.start, wait.end - wait.start), Extent(wait.end, wait.end)]:
            if at < gap.start:
                data = self.file.read(at, gap.start - at)
                if data is None:
                    yield Extent(at, gap.start)
                else:
                    wait.take(at, data)
            if gap.size:
                yield gap
            at = gap.end

    def _ask(self, missing: Iterable[Extent], wait: Wait) -> None:
        """Takes what is in memory, joins what is under way, and asks for the rest."""
        lacking: list[Extent] = []
        for extent in missing:
            lacking.extend(self._not_here(extent, wait))
        if lacking and self.error:
            raise self.error
        if lacking and self._pattern.led:
            lacking[-1] = self._grown(lacking[-1])
        for fetch in self._fetches(lacking):
            self._fly(fetch)
            self._join(fetch, wait)

    def _grown(self, extent: Extent) -> Extent:
        """Who reads on needs the rest of the block too."""
        block = self._common.settings.block
        gaps = self.file.missing(extent.start, -(-extent.end // block) * block - extent.start)
        for gap in gaps[:1]:
            for run in self._not_here(gap, None):
                return Extent(extent.start, max(run.end, extent.end))
        return extent

    def _not_here(self, extent: Extent, wait: Wait | None) -> Iterator[Extent]:
        """Extents that are neither in memory nor under way."""
        begun = -1
        for page in range(extent.start // PAGE, -(-extent.end // PAGE)):
            if self._taken(page, wait):
                if begun >= 0:
                    yield Extent(begun, page * PAGE)
                begun = -1
            elif begun < 0:
                begun = page * PAGE
        if begun >= 0:
            yield Extent(begun, min(self.entry.size, -(-extent.end // PAGE) * PAGE))

    def _taken(self, page: int, wait: Wait | None) -> bool:
        """True if a page is in memory or under way."""
        block = self.blocks.get(page)
        if block and wait:
            start, end = max(page * PAGE, wait.start), min((page + 1) * PAGE, wait.end)
            view = block.view(start, end)
            if view is not None:
                self._touch(block)
                wait.take(start, view)
                return True
        elif block:
            return True
        fetch = self.flying.get(page)
        if fetch and wait:
            self._join(fetch, wait)
        return fetch is not None

    def _join(self, fetch: Fetch, wait: Wait | None) -> None:
        if wait and fetch not in wait.lacks:
            wait.lacks.add(fetch)
            fetch.waits.append(wait)
            if not fetch.started:
                self._common.turns.want(fetch)

    def _fetches(self, lacking: Iterable[Extent]) -> Iterator[Fetch]:
        settings, size = self._common.settings, self.entry.size
        for extent in lacking:
            if size <= settings.small:
                yield Fetch(self, Extent(0, size), whole=True)
                return
            for request in requests(extent, settings.block, size):
                yield Fetch(self, request, whole=False)

    def _fly(self, fetch: Fetch) -> None:
        if not self.flying:
            self._common.streams += 1
        for page in fetch.pages:
            self.flying.setdefault(page, fetch)

    def _observed(self, start: int, end: int) -> Extent:
        """What to fetch ahead of a read."""
        common, size = self._common, self.entry.size
        if size <= common.settings.small or self.error:
            return Extent(size, size)
        return self._pattern.observe(start, end, min(common.settings.ahead, self._room // max(1, common.streams)))

    @property
    def _room(self) -> int:
        """Bytes of memory for what nobody waits for."""
        return self._common.memory.most // 2

    def _fetch_ahead(self, ahead: Extent) -> None:
        """Asks for what will be read next, as far as there is memory for it."""
        turns, size = self._common.turns, self.entry.size
        for gap in self.file.missing(ahead.start, ahead.end - ahead.start) if ahead.start < size else ():
            for fetch in self._fetches(self._not_here(gap, None)):
                if turns.ahead_bytes + fetch.extent.size > self._room:
                    self._pattern.back_to(fetch.extent.start)
                    return
                self._fly(fetch)
                turns.add(fetch)
