"""The quota that a filesystem has, and that may become another one while it is mounted."""

from __future__ import annotations

import json
import threading
from pathlib import Path

from pf_fuse.vfs.quota import Counter, Held, Limits, Quota


class Limiting:
    """Takes over what the place is said to allow, for this process and for the next one."""

    def __init__(self, quota: Quota, counter: Counter, kept: Path) -> None:
        """Where it is written down."""
        self._quota = quota
        self._counter = counter
        self._kept = kept
        self._turn = threading.Lock()

    @property
    def held(self) -> Held | None:
        return self._quota.held

    @property
    def most(self) -> Limits:
        return self._quota.most

    @property
    def of_place(self) -> Limits:
        return self._quota.of_place

    def begin(self) -> None:
        """Where nothing is limited, nothing needs to be counted."""
        if self._quota.limited:
            self._counter.begin()

    def become(self, of_place: Limits) -> None:
        with self._turn:
            beside = self._kept.with_suffix(".new")
            beside.write_text(json.dumps([of_place.bytes, of_place.files]))
            beside.replace(self._kept)
            self._quota.become(of_place)
            self.begin()


def kept_limits(kept: Path) -> Limits | None:
    """What was written down; None if nothing was."""
    try:
        return Limits(*json.loads(kept.read_bytes()))
    except FileNotFoundError:
        return None
