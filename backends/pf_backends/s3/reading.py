"""Reads objects: the bytes of one version, or none."""

from __future__ import annotations

import base64
from collections.abc import Mapping

from isal import isal_zlib

from pf_backends.entries import Entry
from pf_backends.errors import changed, unreachable
from pf_backends.s3.calls import Ask, Caller
from pf_backends.s3.keys import Keys, etag_of, file_entry, time_of_header, version_of
from pf_backends.wire.messages import Answer, Broken

_PAST_END = 416


def read(caller: Caller, keys: Keys, path: str, offset: int, into: memoryview, version: str) -> int:
    """Fulfils `Backend.read`. What broke off goes on where it was, with the version that the first bytes were of."""
    key, count, pinned = keys.of(path), 0, version
    attempts = caller.attempts(len(into))
    while count < len(into):
        start = offset + count
        headers = {"range": f"bytes={start}-{offset + len(into) - 1}"}
        if pinned:
            headers["if-match"] = etag_of(pinned)
        try:
            answer = caller.call(
                Ask("GET", path, key, headers=headers, into=into[count:], allowed=(_PAST_END,)), attempts
            )
        except Broken as broken:
            pinned = _same(path, broken.head.headers if broken.head else {}, pinned)
            count += broken.count
            attempts.again(path, broken.why)
            continue
        if answer.status == _PAST_END:
            break
        pinned = _same(path, answer.headers, pinned)
        end = _end(path, answer, start)
        count += answer.filled
        if not answer.filled or offset + count >= end:
            break
    return count


CHECKSUM = "x-amz-checksum-crc32"
CHECKED = {"x-amz-checksum-mode": "ENABLED"}
"""Asks for the checksum that a file was stored with."""


def fetch(caller: Caller, keys: Keys, path: str, limit: int) -> tuple[Entry, bytes]:
    """Fulfils `Backend.fetch`."""
    attempts = caller.attempts(limit)
    while True:
        answer = caller.call(Ask("GET", path, keys.of(path), headers=CHECKED, most=limit), attempts)
        if is_whole(answer.headers, answer.body):
            return entry_of(path, answer.headers, len(answer.body)), answer.body
        attempts.again(path, "what came is not what the store has: its checksum is another one")


def look(caller: Caller, keys: Keys, path: str) -> Answer | None:
    """What the store tells of an object; None if there is none."""
    answer = caller.call(Ask("HEAD", path, keys.of(path), allowed=(404,)))
    return None if answer.status == 404 else answer


def entry_of(path: str, headers: Mapping[str, str], size: int | None = None) -> Entry:
    """A file, as the head of an answer tells of it."""
    length = headers.get("content-length", "") if size is None else str(size)
    return file_entry(path, length, time_of_header(headers.get("last-modified", "")), headers.get("etag", ""))


def _same(path: str, headers: Mapping[str, str], pinned: str) -> str:
    """The version of an answer. Changed if it is not the one that was asked for."""
    found = version_of(headers.get("etag", ""))
    if not found and pinned:
        raise unreachable(path, "the store does not tell which version it sends")
    if pinned and found != pinned:
        raise changed(path, "there is another version by now")
    return found


def _end(path: str, answer: Answer, start: int) -> int:
    """Where the file ends; Unreachable if what came is from elsewhere in it."""
    if answer.status == 200 and not start:
        return answer.filled
    place, _, whole = answer.headers.get("content-range", "").removeprefix("bytes ").partition("/")
    first, _, last = place.partition("-")
    if not (first.isdecimal() and last.isdecimal()) or (int(first), int(last) + 1) != (start, start + answer.filled):
        raise unreachable(path, f"the store sends {place[:40]!r} where bytes from {start} on were asked for")
    return int(whole) if whole.isdecimal() else start + answer.filled


def is_whole(headers: Mapping[str, str], body: memoryview | bytes) -> bool:
    """False if the store tells a checksum of the file, and it is not that of what came."""
    told = headers.get(CHECKSUM, "")
    return not told or "-" in told or told == checksum(body)


def checksum(body: memoryview | bytes) -> str:
    return base64.b64encode(isal_zlib.crc32(body).to_bytes(4, "big")).decode()
