"""Keeps the mounts of all keys: begins them, has them served again when they are not, and ends them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any, TypeVar

from pf_csi.held import Held, State
from pf_csi.holder.clients import Clients, Served
from pf_csi.holder.ladder import Silence, Step, next_step
from pf_csi.holder.lanes import Lanes
from pf_csi.refusals import Refusal, Why, of_error

T = TypeVar("T")
logger = logging.getLogger(__name__)

_PAUSES = (0.0, 0.5, 1.0, 2.0, 5.0)
"""Seconds before a mount is begun again, by how often that has failed."""
_LOOK = 1.0
_AGAIN = (1.0, 2.0, 5.0, 15.0, 60.0)
"""Seconds before what is left is uploaded again, or what failed is."""
_SOON = 0.1


@dataclass
class _Mount:
    """What the supervisor knows of one key."""

    state: State
    told: Mapping[str, Any] | None
    """What its client is told; None if that is not known any more."""
    generation: int = 0
    refusal: Refusal | None = None
    served: Served | None = None
    task: asyncio.Task[None] | None = field(default=None, repr=False)
    idle: bool = False
    """It is ending, and nothing is done about it at this moment: who wants it may have it."""
    wanted: bool = False
    """Somebody asks for it, and it does not answer."""
    silence: Silence = field(default_factory=Silence)
    looking: asyncio.Task[None] | None = field(default=None, repr=False)
    """Asks its client whether it answers."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long somebody waits, in seconds."""

    ready: float = 100.0
    """For a mount; the kubelet gives up after 120."""
    uploaded: float = 20.0
    """For what was written, when a mount ends."""
    kept: float = 86_400.0
    """Until what was written is not tried to be uploaded any more."""
    hanging: float = 60.0
    """Until something is done about a client that lives and does not answer."""
    answer: float = 3.0
    """For a client that answers, when somebody wants the mount."""


class Supervisor:
    """For the thread of one event loop."""

    def __init__(self, clients: Clients, place_of: Callable[[str], str], lanes: Lanes, patience: Patience) -> None:
        self._clients = clients
        self._place_of = place_of
        self._lanes = lanes
        self._patience = patience
        self._mounts: dict[str, _Mount] = {}
        self._changed = asyncio.Condition()
        self.changes = 0
        """How often something has become another."""

    async def find(self) -> None:
        """What a supervisor before has left: what is served goes on, and the rest is begun again if it is known how."""
        known = await self._lanes.run("", self._clients.known)
        await asyncio.gather(*(self._find(key, told) for key, told in known.items()))

    async def _find(self, key: str, told: Mapping[str, Any] | None) -> None:
        served = await self._apart(key, partial(self._clients.found, key))
        left = await self._apart(key, partial(self._clients.left_for, key))
        mount = self._mounts[key] = _Mount(State.LOST, told)
        if served is not None:
            self._watch(key, mount, served)
        if left is not None:
            mount.state = State.ENDING
            self._run(key, mount, partial(self._end, key, mount, None))
        elif served is not None:
            await self._set(mount, State.READY)
        elif told is not None:
            mount.state = State.BEGINNING
            self._run(key, mount, partial(self._begin, key, mount, failures=1))

    async def hold(self, key: str, told: Mapping[str, Any]) -> Held:
        """Has it mounted, and waits a while."""
        await self._until(lambda: not self._is_ending(key), self._patience.ready)
        mount = self._mounts.get(key)
        if mount is None:
            mount = self._mounts[key] = _Mount(State.LOST, told)
        if mount.idle and mount.task is not None:
            mount.task.cancel()
            mount.idle, mount.state = False, State.LOST
        if mount.state in {State.FAILED, State.LOST}:
            mount.told = told
            mount.state = State.BEGINNING
            self._run(key, mount, partial(self._begin, key, mount))
        await self._until(lambda: mount.state is not State.BEGINNING, self._patience.ready)
        await self._check_answers(key, mount)
        return self._shown(key, mount)

    async def _check_answers(self, key: str, mount: _Mount) -> None:
        """Refusal of a mount that is said to be ready, and whose client says nothing."""
        if mount.state is not State.READY:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(self._patience.answer):
                while True:
                    if await self._apart(key, partial(self._clients.answers, key)):
                        return
                    await asyncio.sleep(_SOON)
        mount.wanted = True
        raise Refusal(Why.PENDING, "the client of the mount does not answer, and will be replaced; try again")

    async def renew(self, key: str, properties: Mapping[str, str]) -> None:
        if (mount := self._mounts.get(key)) is not None and mount.told is not None:
            mount.told = {**mount.told, "properties": dict(properties)}
            await self._apart(key, partial(self._clients.renew, key, properties))

    async def release(self, key: str) -> Held | None:
        """Takes it away, and waits a while until it is gone."""
        mount = self._mounts.get(key)
        if mount is None:
            return None
        if mount.state is not State.ENDING:
            await self._set(mount, State.ENDING)
            self._run(key, mount, partial(self._end, key, mount, mount.task))
        await self._until(lambda: self._mounts.get(key) is not mount, self._patience.uploaded)
        return self._shown(key, mount) if self._mounts.get(key) is mount else None

    async def refresh(self) -> None:
        """Each mount is told once how large its volume may become."""
        await asyncio.gather(*(self._refresh(key) for key, _ in self._ready()))

    async def _refresh(self, key: str) -> None:
        try:
            await self._apart(key, partial(self._clients.refresh, key))
        except (Refusal, OSError) as error:
            logger.warning("the size of a volume is not known", extra={"key": key, "why": str(error)})

    async def look_after(self) -> None:
        """Each client is asked that is not being asked, and none waits for another.

        Something is done about those that do not answer for long.
        """
        for key, mount in self._ready():
            if mount.looking is None or mount.looking.done():
                mount.looking = asyncio.ensure_future(self._look_after(key, mount))

    async def _look_after(self, key: str, mount: _Mount) -> None:
        try:
            answers = await self._answers(key, mount)
            if mount.state is State.READY:
                mount.wanted = mount.wanted and not answers
                now, patience = asyncio.get_running_loop().time(), self._patience.hanging
                mount.silence, step = next_step(mount.silence, answers=answers, now=now, patience=patience)
                await self._climb(key, step)
        except OSError as error:
            logger.warning("a client cannot be looked after", extra={"key": key, "why": str(error)})

    async def _climb(self, key: str, step: Step) -> None:
        if step is Step.WAIT:
            return
        work = self._clients.replace if step is Step.REPLACE else self._clients.break_off
        logger.warning("a client hangs", extra={"key": key, "step": step.value})
        await self._apart(key, partial(work, key))

    async def _answers(self, key: str, mount: _Mount) -> bool:
        """True also where nobody has asked for anything."""
        if not mount.wanted and not await self._apart(key, partial(self._clients.waits, key)):
            return True
        return await self._apart(key, partial(self._clients.answers, key))

    def _ready(self) -> list[tuple[str, _Mount]]:
        return [(key, mount) for key, mount in self._mounts.items() if mount.state is State.READY]

    def held(self) -> Mapping[str, Held]:
        return {key: self._shown(key, mount) for key, mount in self._mounts.items()}

    async def changed_since(self, changes: int) -> int:
        """Returns when there were more changes."""
        async with self._changed:
            await self._changed.wait_for(lambda: self.changes > changes)
            return self.changes

    def close(self) -> None:
        """Whoever serves mounts goes on."""
        for mount in self._mounts.values():
            for task in (mount.task, mount.looking):
                if task is not None:
                    task.cancel()

    def _shown(self, key: str, mount: _Mount) -> Held:
        refusal = mount.refusal or Refusal(Why.FAULT, "")
        return Held(key, mount.state, mount.generation, self._place_of(key), refusal.why, refusal.text)

    async def _begin(self, key: str, mount: _Mount, failures: int = 0) -> None:
        """Until it is served; one that was never served may fail for good."""
        again = mount.generation > 0 or failures > 0
        while mount.told is not None and mount.state is State.BEGINNING:
            await asyncio.sleep(_PAUSES[min(failures, len(_PAUSES) - 1)])
            try:
                await self._apart(key, partial(self._clients.take_up, key))
                served = await self._apart(key, partial(self._clients.begin, key, mount.told))
            except (Refusal, OSError) as error:
                failures += 1
                mount.refusal = error if isinstance(error, Refusal) else of_error(error, "it cannot be mounted")
                logger.warning("a mount failed", extra={"key": key, "why": mount.refusal.text})
                if not again:
                    await self._become(mount, State.FAILED)
            else:
                mount.generation += 1
                self._watch(key, mount, served)
                await self._become(mount, State.READY)
        await self._become(mount, State.LOST)

    async def _become(self, mount: _Mount, state: State) -> None:
        """Unless it is something else than beginning by now."""
        if mount.state is State.BEGINNING:
            await self._set(mount, state)

    def _watch(self, key: str, mount: _Mount, served: Served) -> None:
        mount.served = served
        mount.refusal = None
        mount.silence, mount.wanted = Silence(), False
        asyncio.get_running_loop().add_reader(served.ended, self._ended, key, mount)

    def _ended(self, key: str, mount: _Mount) -> None:
        """Nobody keeps the mount any more."""
        self._unwatch(mount)
        if mount.state is State.READY:
            logger.warning("a mount has lost who keeps it", extra={"key": key})
            mount.state = State.BEGINNING
            mount.generation = max(1, mount.generation)
            self._run(key, mount, partial(self._begin, key, mount))

    def _unwatch(self, mount: _Mount) -> None:
        if mount.served is not None:
            asyncio.get_running_loop().remove_reader(mount.served.ended)
            mount.served.close()
            mount.served = None

    async def _end(self, key: str, mount: _Mount, begun: asyncio.Task[None] | None) -> None:
        with suppress(OSError):
            await self._apart(key, partial(self._clients.leave, key))
        while begun is not None and not begun.done():
            with suppress(OSError):
                await self._apart(key, partial(self._clients.abort, key))
            await asyncio.wait([begun], timeout=_LOOK)
        await self._finish(key, mount)
        failures = 0
        while not await self._cleared(key) and await self._may_upload(key, mount):
            mount.idle = True
            await self._tell()
            await asyncio.sleep(_AGAIN[min(failures, len(_AGAIN) - 1)])
            mount.idle = False
            failures += 1
            await self._upload(key, mount)
        del self._mounts[key]
        await self._set(mount, State.LOST)

    async def _may_upload(self, key: str, mount: _Mount) -> bool:
        """Whether it is tried once more; else what opens the storage is forgotten."""
        left = await self._apart(key, partial(self._clients.left_for, key))
        if mount.told is not None and (left or 0.0) < self._patience.kept:
            return True
        logger.error("what was written could not be uploaded, and is kept", extra={"key": key})
        await self._apart(key, partial(self._clients.forget, key))
        return False

    async def _upload(self, key: str, mount: _Mount) -> None:
        """Another client finds what the one before has left, and uploads it before it ends."""
        logger.warning("what was written is not uploaded yet; trying again", extra={"key": key})
        try:
            served = await self._apart(key, partial(self._clients.begin, key, mount.told or {}))
        except (Refusal, OSError) as error:
            logger.warning("what was written cannot be uploaded now", extra={"key": key, "why": str(error)})
            return
        self._watch(key, mount, served)
        await self._finish(key, mount)

    async def _finish(self, key: str, mount: _Mount) -> None:
        """It is unmounted, and whoever serves it has ended."""
        served, since = mount.served, asyncio.get_running_loop().time()
        try:
            await self._apart(key, partial(self._clients.unmount, key))
        except OSError as error:
            logger.warning("a mount could not be taken off", extra={"key": key, "why": str(error)})
        while (served is not None and mount.served is served) or await self._is_taken(key):
            await asyncio.sleep(0.05)
            with suppress(OSError):
                await self._apart(key, partial(self._clients.end, key, asyncio.get_running_loop().time() - since))
            await self._look(mount)

    async def _is_taken(self, key: str) -> bool:
        """Its client may have outlived whoever kept it; what it has written is still its own."""
        return await self._apart(key, partial(self._clients.is_taken, key))

    async def _cleared(self, key: str) -> bool:
        """False if something is left that is to be uploaded."""
        for pause in _PAUSES:
            await asyncio.sleep(pause)
            try:
                return await self._apart(key, partial(self._clients.clear, key))
            except OSError as error:
                logger.warning("a mount is not cleared away", extra={"key": key, "why": str(error)})
        return False

    async def _look(self, mount: _Mount) -> None:
        """Waits for the end, for a moment."""
        for _ in range(20):
            if mount.served is None:
                return
            await asyncio.sleep(_LOOK / 20)

    async def _set(self, mount: _Mount, state: State) -> None:
        mount.state = state
        await self._tell()

    async def _tell(self) -> None:
        async with self._changed:
            self.changes += 1
            self._changed.notify_all()

    async def _until(self, done: Callable[[], bool], patience: float) -> None:
        """Or until so many seconds have passed."""
        with suppress(TimeoutError):
            async with asyncio.timeout(patience), self._changed:
                await self._changed.wait_for(done)

    def _is_ending(self, key: str) -> bool:
        mount = self._mounts.get(key)
        return mount is not None and mount.state is State.ENDING and not mount.idle

    def _run(self, key: str, mount: _Mount, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        mount.task = asyncio.ensure_future(self._until_done(key, mount, work))

    async def _until_done(self, key: str, mount: _Mount, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Whatever fails is tried again: nobody else does, and the mount would begin or end for ever."""
        for failures in count():
            try:
                await work()
            except Exception as fault:
                logger.exception("nothing comes of a mount so far; trying again", extra={"key": key})
                # What it said may hold a secret.
                why = f"{mount.state} has failed, and is tried again; the log of pf-csi holder says why"
                mount.refusal = Refusal(Why.PENDING, f"{why} ({type(fault).__name__})")
            else:
                return
            await self._tell()
            await asyncio.sleep(_AGAIN[min(failures, len(_AGAIN) - 1)])

    async def _apart(self, key: str, work: Callable[[], T]) -> T:
        return await self._lanes.run(key, work)
