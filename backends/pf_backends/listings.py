"""Lists that can only be read on from where they are, handed out in pages."""

from __future__ import annotations

import errno
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from pf_backends.entries import Entry, Kind, Page
from pf_backends.errors import changed

MOST_OPEN = 64
"""Lists that are kept open for somebody to read on. Each costs an open folder, or several."""

_GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)

Start = Callable[[], Iterator[Entry]]


class Listings:
    """The lists that somebody has read a page of and may want the next one.

    What asks for the next page names the last thing of the page before: a list that was not kept is read again until
    there.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._open: OrderedDict[str, Iterator[Entry]] = OrderedDict()

    def page(self, folder: str, start: Start, rest: str, limit: int) -> Page:
        """At most so many of the things that `start` tells of, after those of the page before."""
        entries = self._at(folder, start, rest) if rest else start()
        found = list(islice(entries, limit))
        if len(found) < limit:
            return Page(found)
        return Page(found, f"{self._kept(entries)}/{found[-1].path}")

    def close(self) -> None:
        with self._guard:
            self._open.clear()

    def _at(self, folder: str, start: Start, rest: str) -> Iterator[Entry]:
        key, _, last = rest.partition("/")
        with self._guard:
            kept = self._open.pop(key, None)
        return kept or _after(folder, start(), last)

    def _kept(self, entries: Iterator[Entry]) -> str:
        key = secrets.token_hex(8)
        with self._guard:
            self._open[key] = entries
            if len(self._open) > MOST_OPEN:
                self._open.popitem(last=False)
        return key


def _after(folder: str, entries: Iterator[Entry], last: str) -> Iterator[Entry]:
    for entry in entries:
        if entry.path == last:
            return entries
    raise changed(folder, "what the last page ended with is there no more; list it from the beginning")


def descended(inside: Callable[[str], Iterator[Entry]], folder: str) -> Iterator[Entry]:
    """What is below a folder, told by what is in each: a folder comes before what is in it."""
    reading = [inside(folder)]
    while reading:
        entry = _next(reading)
        if entry is None:
            reading.pop()
            continue
        yield entry
        if entry.kind is Kind.FOLDER:
            reading.append(inside(entry.path))


def _next(reading: Sequence[Iterator[Entry]]) -> Entry | None:
    try:
        return next(reading[-1], None)
    except OSError as error:
        # The folder that was asked for must be there; one below it may have gone meanwhile, or been replaced.
        if len(reading) > 1 and error.errno in _GONE:
            return None
        raise
