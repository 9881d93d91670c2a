"""What a mount does just now: of two answers to "how are you doing", the difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Stats = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RequestRate:
    """Of one kind of request."""

    name: str
    count: int
    """In all."""
    failed: int
    """In all."""
    per_second: float
    half: float
    """Seconds within which half of them were answered: a power of two, so at most twice what it is."""
    most: float
    """Seconds within which 99 of 100 were answered, as above."""


@dataclass(frozen=True, slots=True)
class Rates:
    """Between two moments, or since the mount is served."""

    seconds: float
    read: float
    """Bytes each second that programs read by asking the mount."""
    fetched: float
    """Bytes each second that came from the backend."""
    hit: float | None
    """Of what was read, the share that nobody waited for; None if nothing was."""
    processors: float
    requests: Sequence[RequestRate]


def rates(before: Stats | None, now: Stats) -> Rates:
    """Since `before`, or since the process began that serves it."""
    if before and before["process"]["id"] != now["process"]["id"]:
        before = None
    seconds = max(1e-3, now["up"] - (before["up"] if before else 0.0))
    counts, old = now["fetching"]["counts"], before["fetching"]["counts"] if before else {}
    done = {name: value - old.get(name, 0) for name, value in counts.items()}
    read = done["asked"] + done["whole"]
    used = now["process"]["processor"] - (before["process"]["processor"] if before else 0.0)
    return Rates(
        seconds,
        read / seconds,
        done["fetched"] / seconds,
        1 - done["waited"] / read if read else None,
        used / seconds,
        _requests(before["requests"] if before else {}, now["requests"], seconds),
    )


def _requests(before: Stats, now: Stats, seconds: float) -> Sequence[RequestRate]:
    """Those that are asked most often first."""
    found = [_request(name, before.get(name), each, seconds) for name, each in now.items()]
    return sorted(found, key=lambda each: (-each.per_second, -each.count))


def _request(name: str, before: Stats | None, now: Stats, seconds: float) -> RequestRate:
    old: Sequence[int] = before["spans"] if before else ()
    spans = [count - (old[place] if place < len(old) else 0) for place, count in enumerate(now["spans"])]
    return RequestRate(
        name, now["count"], sum(now["failed"].values()), sum(spans) / seconds, _within(spans, 0.5), _within(spans, 0.99)
    )


def _within(spans: Sequence[int], share: float) -> float:
    """Seconds within which this share was answered; span n holds what took less than 2 ** n nanoseconds."""
    left = share * sum(spans)
    for span, count in enumerate(spans):
        left -= count
        if left <= 0 and count:
            return float(2**span) / 1e9
    return 0.0
