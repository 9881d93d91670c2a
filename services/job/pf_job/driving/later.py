"""What did not answer is left for later, and holds up nothing else."""

from __future__ import annotations

from collections.abc import Collection

from pf_kit.clock import Clock

AGAIN_SECONDS = 1.0
"""Until something is asked again that did not answer."""


class Later:
    """Jobs for which something did not answer."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._times: dict[str, float] = {}
        """When to look at them again."""

    def jobs(self) -> Collection[str]:
        """Those that it is not time for."""
        now = self._clock.monotonic()
        self._times = {id_: time for id_, time in self._times.items() if time > now}
        return self._times

    def leave(self, *jobs: str) -> None:
        """Leaves jobs for later."""
        self._times.update(dict.fromkeys(jobs, self._clock.monotonic() + AGAIN_SECONDS))
