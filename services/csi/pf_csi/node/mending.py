"""Has what is mounted be what was published: at the beginning, when a mount becomes another, and every minute."""

from __future__ import annotations

import asyncio
import logging
import sys
from contextlib import suppress
from functools import partial

from pf_csi.node.domain import Entry
from pf_csi.node.reconciling import Forget, Peel, Rebind, RebindWithin, Recall, Release, Step, steps
from pf_csi.node.service import Ground, Publishing
from pf_csi.refusals import Refusal, Why
from pf_csi.turns import Turns

logger = logging.getLogger(__name__)

_EVERY = 60.0
_AGAIN = 1.0
_PATIENCE = 10.0


class Mending:
    """For the thread of one event loop."""

    def __init__(self, ground: Ground, publishing: Publishing, turns: Turns) -> None:
        self._ground = ground
        self._publishing = publishing
        self._turns = turns
        self.works = True
        """Whether the last time was without a fault of the driver."""
        self.is_held = False
        """Whether whoever holds mounts answered the last time."""

    async def run(self) -> None:
        """Until it is cancelled. A fault is told, and it goes on: publishing does not depend on it."""
        while True:
            try:
                await self._once()
            except Refusal as refusal:
                self.is_held = False
                logger.info("nobody holds mounts on this machine", extra={"why": refusal.text})
                await asyncio.sleep(_AGAIN)
            except Exception:
                logger.exception("what is mounted could not be compared with what was published; trying again")
                self.works = False
                await asyncio.sleep(_AGAIN)

    async def _once(self) -> None:
        done = await self.mend()
        self.works = self.is_held = True
        with suppress(TimeoutError):
            async with asyncio.timeout(_EVERY if done else _AGAIN):
                await self._ground.holder.changed()

    async def mend(self) -> bool:
        """Once; False if something is to be looked at again, since somebody does something there. Refusal if the holder
        does not answer.
        """
        ground = self._ground
        held = await ground.holder.held()
        busy = self._turns.under_way
        done = not busy
        for step in steps(ground.read(), ground.journal.entries, held, ground.boot, busy, ground.pods):
            logger.info("mending", extra={"step": type(step).__name__, "target": _target(step)})
            try:
                await self._do(step)
            except Refusal:
                done = False
        return done

    async def _do(self, step: Step) -> None:
        match step:
            case Release(key):
                await self._publishing.let_go(key)
            case Recall(target):
                await self._turns.take(target, self._publishing.recall(target))
            case Forget(entry) | Rebind(entry) | RebindWithin(entry) | Peel(entry):
                await self._turns.take(entry.target, self._at_target(step))

    async def _at_target(self, step: Forget | Rebind | RebindWithin | Peel) -> None:
        ground = self._ground
        if ground.journal.at(step.entry.target) != step.entry:
            raise Refusal(Why.PENDING, "it was published anew meanwhile")
        try:
            match step:
                case Forget(entry):
                    await ground.apart(partial(ground.targets.clear, entry.target))
                    await ground.apart(partial(ground.journal.remove, entry.target))
                case Peel(_, place):
                    with suppress(FileNotFoundError):
                        await ground.apart(partial(ground.targets.peel, place))
                case Rebind(entry, source):
                    await self._rebind(entry, source)
                case RebindWithin(entry, source, inner, place):
                    await self._rebind_within(source, inner, place, read_only=entry.read_only)
        except FileNotFoundError:
            # The pod's folder is gone, and so is the pod.
            await ground.apart(partial(ground.journal.remove, step.entry.target))
        except OSError as error:
            logger.warning("not mended", extra={"target": step.entry.target, "why": error.strerror})

    async def _rebind(self, entry: Entry, source: str) -> None:
        """Unless whoever had a turn before has."""
        ground = self._ground
        mounts = ground.read()
        there, wanted = mounts.top(entry.target), mounts.top(source)
        if there is None or wanted is None or there.device != wanted.device:
            await ground.apart(partial(ground.targets.make, entry.target))
            await ground.apart(partial(ground.targets.bind, source, entry.target, read_only=entry.read_only))

    async def _rebind_within(self, source: str, inner: str, place: str, *, read_only: bool) -> None:
        """Another process does, which may be killed: the folder has to be looked up in the mount."""
        arguments = [str(self._ground.targets.root), source, inner, place, "ro" if read_only else "rw"]
        doing = await asyncio.create_subprocess_exec(sys.executable, "-m", "pf_csi.kernel.rebinding", *arguments)
        try:
            async with asyncio.timeout(_PATIENCE):
                await doing.wait()
        except TimeoutError:
            doing.kill()
            logger.warning("a folder of a mount is not mended", extra={"target": place})


def _target(step: Step) -> str:
    match step:
        case Release(key):
            return key
        case Recall(target):
            return target
        case Peel(entry) | Forget(entry) | Rebind(entry) | RebindWithin(entry):
            return entry.target
