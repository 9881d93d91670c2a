"""Files that somebody else brings."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass

from pf_backends.entries import Entry


@dataclass(frozen=True, slots=True)
class Coming:
    """A file that is on its way."""

    found: Future[Entry | None]
    """What lies at its path; None if that is to be found out in another way."""
    since: float
    """When it was ordered, by `time.monotonic`: it may have been looked for then."""
