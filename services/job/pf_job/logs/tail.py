"""Finds where the last lines of a log begin, in blocks from the end towards the beginning."""

from __future__ import annotations

from typing import Protocol

from pf_job.logs.cutting import SEARCHED
from pf_job.logs.search import Search


class Tail(Protocol):
    """Looks for the beginning of the last lines. It is given one block after another, each before the last one."""

    def feed(self, offset: int, block: bytes, *, first: bool) -> int | None:
        """Where the lines begin; None if that lies further to the front. `first` if nothing comes before the block."""


def tail(lines: int, search: Search | None) -> Tail:
    """Looks for so many lines, at least one; of those that a search finds, if there is one."""
    return _Found(lines, search) if search else _All(lines)


class _All:
    """Counts ends of lines."""

    def __init__(self, lines: int) -> None:
        self._left = lines
        self._at_end = True

    def feed(self, offset: int, block: bytes, *, first: bool) -> int | None:
        # The end of the last line of all begins no other line.
        body = block[:-1] if self._at_end and block.endswith(b"\n") else block
        self._at_end = self._at_end and not block
        ends = body.count(b"\n")
        if ends >= self._left:
            return offset + len(body.rsplit(b"\n", self._left)[0]) + 1
        self._left -= ends
        return offset if first else None


class _Found:
    """Counts lines that contain a text. Of longer lines each part that is looked at counts."""

    def __init__(self, lines: int, search: Search) -> None:
        self._left = lines
        self._search = search
        self._rest = b""
        """The end of a line whose beginning has not come yet."""

    def feed(self, offset: int, block: bytes, *, first: bool) -> int | None:
        data = block + self._rest
        begin = 0 if first else data.find(b"\n") + 1
        if not first and (begin or len(data)) > SEARCHED:
            begin = 0
        elif not first and not begin:
            begin = len(data)
        self._rest = data[:begin]
        found = self._search.find(data[begin:])
        if len(found) >= self._left:
            return offset + begin + found[-self._left][0]
        self._left -= len(found)
        return offset if first else None
