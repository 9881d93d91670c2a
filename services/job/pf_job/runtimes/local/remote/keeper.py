"""Keeps what replicas of this machine have mounted: one mount for all who may share it, while one is there.

Whoever prepares replicas holds a mount until these hold it themselves, and a little longer: the next ones often want it
too. What crashes leave behind is found by its folder, and taken away unless replicas use it.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TypeVar
from weakref import WeakValueDictionary

from paddleflow.mounted import NotMounted, SlowToAnswer, Unanswered
from paddleflow.mounting import start
from paddleflow.problems import FailedPrecondition, Problem, Unavailable
from pf_job.runtimes.local.remote.apart import apart
from pf_job.runtimes.local.remote.domain import About, Cache, Wanted, settings_of
from pf_job.runtimes.local.remote.folder import MountFolder, NoSuchFolder, folders_in, identity_of
from pf_job.runtimes.local.remote.renewing import Renewing
from pf_job.runtimes.local.remote.reporting import Report, Reports, limit, look, tell
from pf_job.runtimes.port import Mount, RemoteMount

logger = logging.getLogger(__name__)

AT_ONCE = 4
"""Replicas that are prepared at once for one mount: where it hangs, so many threads do."""
SLOW = 120.0
"""Seconds after which a mount that is not there is told to have failed, and one that is silent to be lost."""
LISTEN = 5.0
"""Seconds between two looks whether whoever is uploading is still there."""
LOOK = 0.2
"""Seconds until what could not be taken away is tried again by whoever rests."""
LINGERS = 10.0
"""Seconds that nobody needs a mount before it is taken away."""
T = TypeVar("T")


@dataclass(slots=True)
class _Prepared:
    """A mount that is being made, or was, for replicas that are about to begin."""

    making: asyncio.Task[int]
    """Returns a handle that holds it."""
    begun: float
    wanted: float
    """When somebody wanted it last."""


class Keeper:
    """The mounts below a data folder."""

    def __init__(
        self, data: Path, cache: Cache, environ: Mapping[str, str], node: str, reports: Reports | None
    ) -> None:
        """The clients of mounts get this environment; `node` is what this machine is called."""
        self._mounts = data / "mounts"
        self._unsent = data / "unsent"
        self._cache = cache
        self._environ = environ
        self._node = node
        self._reports = reports
        self._telling = asyncio.Lock()
        """What is told of a mount comes before its end, or not at all."""
        self._renewing = Renewing(data, self._mounts, reports)
        self._turns: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        self._prepared: dict[str, _Prepared] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._unsettled: set[str] = set()
        """Of which there is left what could not be uploaded: whoever mounts them next uploads it."""
        self.made = asyncio.Event()
        """Something was mounted of which nobody was told yet."""

    def lock_of(self, wanted: Wanted) -> str:
        """The file that a replica holds as long as it needs the mount."""
        return str(self._folder(wanted.name).lock)

    async def mount(self, wanted: Wanted, mount: RemoteMount) -> Mount:
        """A folder of a mount, once that is made.

        Raises Unavailable as long as it is being made, and FailedPrecondition if it cannot be.
        """
        folder = self._folder(wanted.name)
        called = f"the filesystem {mount.remote.filesystem} cannot be mounted"
        await self._require_made(wanted, folder, called)
        try:
            return await self._in_turn(wanted.name, lambda: _mount(folder, mount))
        except (NotMounted, Unanswered) as problem:
            # Another client follows one that was killed; if none does, the place is mounted anew.
            self._drop(wanted.name)
            raise Unavailable(f"{called} yet: {problem.message}") from None
        except NoSuchFolder as error:
            raise FailedPrecondition(f"{called}: {error}") from None
        except OSError as error:
            self._drop(wanted.name)
            raise Unavailable(f"{called} yet: {error.strerror or error}") from None

    async def settle(self, locks: Sequence[str], replica: str) -> str:
        """Has everything uploaded that a replica wrote which has ended; says what could not be."""
        words = list[str]()
        for folder in [MountFolder(Path(lock).parent) for lock in locks]:
            try:
                said = await _heard(folder, partial(_settled, folder, self._unsent / replica))
            except OSError as error:
                said = f"whether all is uploaded cannot be told: {error}; see {folder.state}"
            words.append(said)
        return "; ".join(filter(None, words))

    def answering(self) -> AbstractAsyncContextManager[None]:
        """Clients of mounts whose keys have expired are told others meanwhile."""
        return self._renewing.answering()

    async def report(self) -> None:
        """Tells of all that is mounted."""
        self.made.clear()
        if self._reports is None:
            return
        folders = folders_in(self._mounts)
        looks = [apart(partial(look, folder, self._node)) for folder in folders]
        for folder, found in zip(folders, await asyncio.gather(*looks), strict=True):
            if found is not None and (limits := await self._told(self._reports, folder, found)) is not None:
                await apart(partial(limit, folder, found, limits))

    async def _told(self, reports: Reports, folder: MountFolder, found: Report) -> Mapping[str, int | None] | None:
        """What is answered; nobody is told of what is gone by now."""
        async with self._telling:
            return await tell(reports, found) if await apart(folder.is_held) else None

    def sweep(self) -> None:
        """Takes away in the background what nobody needs any more."""
        now = monotonic()
        for name, prepared in list(self._prepared.items()):
            if prepared.making.done() and now - prepared.wanted > LINGERS:
                self._drop(name)
        for folder in folders_in(self._mounts):
            if folder.name in self._prepared or folder.name in self._unsettled:
                continue
            if (claim := folder.claim()) is not None:
                self._begin_end(folder, claim)

    async def rest(self, patience: float) -> None:
        """Takes away all that no replica uses, as far as that goes so quickly."""
        for prepared in self._prepared.values():
            prepared.wanted = float("-inf")
        deadline = monotonic() + patience
        self.sweep()
        while self._ending and (left := deadline - monotonic()) > 0:
            await asyncio.wait(self._ending, timeout=left)
            await asyncio.sleep(LOOK if folders_in(self._mounts) else 0)
            # What was used for another moment, by somebody who had just ended.
            self.sweep()

    def close(self) -> None:
        """Lets go; what replicas use stays mounted."""
        for prepared in self._prepared.values():
            prepared.making.cancel()
        for name in list(self._prepared):
            self._drop(name)
        for task in self._ending:
            task.cancel()

    def _folder(self, name: str) -> MountFolder:
        return MountFolder(self._mounts / name)

    async def _require_made(self, wanted: Wanted, folder: MountFolder, called: str) -> None:
        now = monotonic()
        prepared = self._prepared.get(wanted.name)
        if prepared is None:
            making = asyncio.create_task(apart(lambda: self._make(wanted, folder)))
            making.add_done_callback(lambda _: self.made.set())
            prepared = self._prepared[wanted.name] = _Prepared(making, now, now)
            self._unsettled.discard(wanted.name)
        prepared.wanted = now
        if not prepared.making.done():
            if now - prepared.begun > SLOW:
                # Others try it anew.
                self._drop(wanted.name)
                raise FailedPrecondition(f"{called}: it is not there after {SLOW:.0f} s; see {folder.state / 'log'}")
            raise Unavailable(f"{wanted.remote.filesystem} is being mounted")
        try:
            prepared.making.result()
        except SlowToAnswer as problem:
            self._drop(wanted.name)
            raise Unavailable(f"{called} yet: {problem.message}") from None
        except Problem as problem:
            self._drop(wanted.name)
            raise FailedPrecondition(f"{called}: {problem.message}") from None
        except OSError as error:
            self._drop(wanted.name)
            raise Unavailable(f"{called} yet: {error}") from None

    def _drop(self, name: str) -> None:
        """Lets go of a mount, unless somebody else has who waited for the same one."""
        prepared = self._prepared.pop(name, None)
        if prepared is None:
            return
        if prepared.making.done():
            _let_go(prepared.making)
        else:
            prepared.making.add_done_callback(_let_go)

    def _make(self, wanted: Wanted, folder: MountFolder) -> int:
        """A handle that holds the mount, which is served."""
        remote = wanted.remote
        folder.make(About(remote.filesystem, remote.etag, wanted.tenant, remote.read_only))
        held = folder.hold()
        try:
            if not folder.is_served():
                renewal = self._renewing.settings(wanted.name)
                settings = settings_of(wanted, folder.place, folder.state, self._cache, renewal)
                start(settings, self._environ, patience=SLOW)
        except BaseException:
            os.close(held)
            raise
        return held

    def _begin_end(self, folder: MountFolder, claim: int) -> None:
        task = asyncio.create_task(self._end(folder, claim))
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def _end(self, folder: MountFolder, claim: int) -> None:
        try:
            about = folder.about()
            gone = await apart(folder.remove)
            if about is not None and self._reports is not None:
                async with self._telling:
                    await self._reports.end(about, folder.name)
            if not gone:
                self._unsettled.add(folder.name)
                logger.warning("what jobs wrote is not uploaded, and kept", extra={"folder": str(folder.state)})
        except (Problem, OSError) as problem:
            logger.warning("a mount cannot be taken away yet", extra={"place": str(folder.place), "why": str(problem)})
        finally:
            with suppress(OSError):
                os.close(claim)

    async def _in_turn(self, name: str, work: Callable[[], T]) -> T:
        """What many may want of a mount."""
        turn = self._turns.setdefault(name, asyncio.Semaphore(AT_ONCE))
        async with turn:
            return await apart(work)


async def _heard(folder: MountFolder, work: Callable[[], T]) -> T:
    """What comes of work that takes long. OSError if whoever serves the mount has been silent for too long."""
    working, heard = asyncio.create_task(apart(work)), monotonic()
    try:
        while not (await asyncio.wait([working], timeout=LISTEN))[0]:
            if await apart(lambda: folder.answers(LISTEN)):
                heard = monotonic()
            elif monotonic() - heard > SLOW:
                raise OSError(f"whoever serves the mount has said nothing for {SLOW:.0f} s")
        return working.result()
    finally:
        working.cancel()


def _let_go(making: asyncio.Task[int]) -> None:
    if not making.cancelled() and making.exception() is None:
        os.close(making.result())


def _mount(folder: MountFolder, mount: RemoteMount) -> Mount:
    folder.renew()
    with folder.opened(mount.sub_path) as handle:
        source = os.path.normpath(folder.place / mount.sub_path)
        return Mount(source, mount.target, mount.remote.read_only, identity_of(handle))


def _settled(folder: MountFolder, unsent: Path) -> str:
    about = folder.about()
    if about is None:
        return ""
    trouble = folder.sync()
    kept = folder.rescue(unsent)
    if kept:
        return f"not uploaded to {about.filesystem}: {', '.join(kept)}; it is kept in {unsent}"
    return f"what it wrote is not uploaded to {about.filesystem} yet: {trouble}" if trouble else ""
