"""Keys of a store that hold by now, for those that have expired: a program tells them, as whoever mounted has said."""

from __future__ import annotations

import json
import logging
import subprocess
import threading
import time
from collections.abc import Callable, Mapping

import msgspec

from pf_backends.s3.settings import Keys
from pf_fuse.settings import LinkSettings, RenewalSettings

_PATIENCE = 30.0
"""Seconds for the program."""
_AGAIN = 10.0
"""Seconds until it is asked once more: where something is forbidden, new keys are no help."""

log = logging.getLogger(__name__)


class _Source(msgspec.Struct, frozen=True):
    """A filesystem as it is now."""

    properties: Mapping[str, str]
    links: list[LinkSettings] = []


class _Told(msgspec.Struct, frozen=True):
    answer: _Source | None = None
    problem: str = ""
    message: str = ""
    """Of the problem; it holds no secrets."""
    final: bool = False
    """No other attempt solves it: the filesystem is gone, or is another's."""


class Renewals:
    """Asks the program. For many threads."""

    def __init__(self, settings: RenewalSettings, clock: Callable[[], float] = time.monotonic) -> None:
        self._settings = settings
        self._clock = clock
        self._lock = threading.Lock()
        self._keys: Mapping[str, Keys] | None = None
        """As they were told last; None: they never were."""
        self._after = 0.0

    def keys(self, path: str, old: Keys) -> Keys | None:
        """Of the place that is linked there, empty for the filesystem itself.

        The old ones if nobody tells others now, None if nobody ever will.
        """
        with self._lock:
            if self._clock() >= self._after:
                told = self._asked()
                self._keys = self._keys if told is None else told
                self._after = self._clock() + _AGAIN
            return old if self._keys is None else self._keys.get(path)

    def _asked(self) -> Mapping[str, Keys] | None:
        """None: nobody tells them now."""
        settings = self._settings
        question = json.dumps(settings.told).encode()
        try:
            done = subprocess.run(settings.command, input=question, capture_output=True, timeout=_PATIENCE, check=False)
            told = msgspec.json.decode(done.stdout, type=_Told)
        except (OSError, subprocess.TimeoutExpired, msgspec.DecodeError) as failure:
            # What it said may have secrets.
            _log_refusal(f"who was asked did not answer ({type(failure).__name__})")
            return None
        source = told.answer
        if source is None:
            _log_refusal(f"{told.problem}: {told.message}")
            return {} if told.final else None
        log.info("the store says that the keys have expired; they were asked for anew")
        places = {"": source.properties} | {link.path: link.properties for link in source.links}
        return {path: keys_of(properties) for path, properties in places.items()}


def _log_refusal(why: str) -> None:
    log.warning("the store says that the keys have expired, and nobody tells others: %s", why)


def keys_of(properties: Mapping[str, str]) -> Keys:
    """Those of an object store."""
    return Keys(*(properties.get(name, "") for name in ("accessKey", "secretKey", "sessionToken")))
