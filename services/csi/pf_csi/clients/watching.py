"""A copy of all objects of a kind, which follows them."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable

from pf_csi.kubernetes import Api, ApiFailed, Kind, Thing

logger = logging.getLogger(__name__)

_AGAIN = 1.0


class Watched:
    """For the thread of one event loop; another thread listens, and ends with the process."""

    def __init__(self, api: Api, kind: Kind, changed: Callable[[], None]) -> None:
        self._api = api
        self._kind = kind
        self._changed = changed
        self._loop = asyncio.get_running_loop()
        self.things: dict[str, Thing] = {}
        """By their names."""
        self.complete = asyncio.Event()
        """All that there are were seen once."""

    def begin(self) -> None:
        threading.Thread(target=self._follow, name=f"watch-{self._kind.plural}", daemon=True).start()

    def learn(self, thing: Thing) -> None:
        """What was done here, before it is heard of."""
        self.things[thing["metadata"]["name"]] = thing

    def _follow(self) -> None:
        while not self._loop.is_closed():
            try:
                self._follow_once()
            except ApiFailed as failed:
                if not failed.outdated:
                    logger.warning("not watched", extra={"kind": self._kind.plural, "why": failed.text})
                time.sleep(_AGAIN)
            except (AttributeError, KeyError, TypeError, RuntimeError):
                if self._loop.is_closed():
                    return
                # To go on with what was known would be to act upon it for ever.
                logger.exception("not watched: what was told is not understood", extra={"kind": self._kind.plural})
                time.sleep(_AGAIN)

    def _follow_once(self) -> None:
        """Until the server has forgotten the version from which on it should tell."""
        listed, version = self._api.list(self._kind)
        self._loop.call_soon_threadsafe(self._become, {thing["metadata"]["name"]: thing for thing in listed})
        while True:
            for happened, thing in self._api.watch(self._kind, version, allowWatchBookmarks="true"):
                version = thing["metadata"]["resourceVersion"]
                if happened != "BOOKMARK":
                    self._loop.call_soon_threadsafe(self._happened, happened, thing["metadata"]["name"], thing)

    def _become(self, things: dict[str, Thing]) -> None:
        self.things = things
        self.complete.set()
        self._changed()

    def _happened(self, happened: str, name: str, thing: Thing) -> None:
        if happened == "DELETED":
            self.things.pop(name, None)
        else:
            self.things[name] = thing
        self._changed()
