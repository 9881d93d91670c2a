"""Publishing: a volume appears at a target, and disappears."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from paddleflow.mountinfo import ReadMounts
from pf_csi.held import Held, State
from pf_csi.kernel.targets import Targets
from pf_csi.node.domain import Asked, Entry, Wish, check_alone, check_same, wish_of
from pf_csi.node.journal import Journal
from pf_csi.node.ports import Filesystems, Holder
from pf_csi.node.recalling import KUBELETS, LONGEST, bound, told_driver
from pf_csi.node.telling import told
from pf_csi.places import Named, Place, Rules
from pf_csi.refusals import Refusal, Why, of_error
from pf_csi.turns import Turns

T = TypeVar("T")
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Ground:
    """What publishing stands on."""

    targets: Targets
    journal: Journal
    holder: Holder
    filesystems: Filesystems
    read: ReadMounts
    workers: Executor
    """Threads for what blocks on this machine's disk."""
    rules: Rules
    salt: bytes
    boot: str
    driver: str

    @property
    def pods(self) -> str:
        """Below it the kubelet has what belongs to pods."""
        return f"{self.targets.root}/pods/"

    async def apart(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self.workers, work)


class Publishing:
    """Volumes at targets. For the thread of one event loop."""

    def __init__(self, ground: Ground, turns: Turns) -> None:
        self._ground = ground
        self._turns = turns
        self._wanted: Counter[str] = Counter()
        """Keys that are being published, and are not to be taken away."""
        self._releasing: dict[str, asyncio.Task[Held | None]] = {}
        """Those that are being taken away, and are not to be asked for meanwhile."""
        self._coming: dict[str, Wish] = {}
        """What is being published, by its target."""

    async def publish(self, asked: Asked) -> None:
        """Nothing is left of it if that fails for good, and nothing changes if it is there. Refusal."""
        wish = wish_of(asked, self._ground.rules)
        self._check(wish.target)
        await self._turns.take(wish.target, self._come(wish))

    async def unpublish(self, target: str) -> None:
        """There is nothing at the target afterwards, and no target. Refusal."""
        self._check(target)
        await self._turns.take(target, self._unpublish(target))

    def _in_use(self, key: str) -> bool:
        return bool(self._wanted[key]) or self._ground.journal.uses(key)

    def _check(self, target: str) -> None:
        try:
            self._ground.targets.relative(target)
        except PermissionError as error:
            raise Refusal(Why.MALFORMED, f"target_path: {error.strerror}") from None

    async def _come(self, wish: Wish) -> None:
        check_alone(wish, [*self._ground.journal.entries, *self._coming.values()])
        self._coming[wish.target] = wish
        try:
            await self._publish(wish)
        finally:
            del self._coming[wish.target]

    async def _publish(self, wish: Wish) -> None:
        ground = self._ground
        entry, there = await self._known(wish.target), ground.read().top(wish.target)
        if entry is not None:
            check_same(entry, wish, ground.salt)
        elif there is not None:
            await self._clear_unknown(wish.target)
        key, alive = wish.key(ground.salt), entry is not None and there is not None
        try:
            place = await self._place(wish)
        except Refusal as refusal:
            if not alive or refusal.why is not Why.UNREACHABLE:
                raise
            logger.warning("it stays as it is", extra={"target": wish.target, "why": refusal.text})
            return
        if entry is not None and alive and (entry.key != key or isinstance(wish.place, Named)):
            # Only what opens the storage is another: whoever serves the mount is told, and stays.
            await ground.holder.renew(entry.key, place.all)
            key = entry.key
        self._wanted[key] += 1
        try:
            held = await self._held(key, wish, place)
            await self._appear(self._entry(wish, key, held), held)
            if entry is not None and entry.key != key:
                await self.let_go(entry.key)
        except BaseException as failure:
            try:
                if not alive:
                    await self._undo(wish.target)
            finally:
                self._unwant(key)
            # What is still being mounted is wanted again in a moment; else it is found that nobody uses it.
            if not isinstance(failure, Refusal) or failure.why is not Why.PENDING:
                await self.let_go(key)
            raise
        self._unwant(key)

    async def _known(self, target: str) -> Entry | None:
        """What is at the target, as is written down or as the kernel shows it."""
        entry, there = self._ground.journal.at(target), self._ground.read().top(target)
        return entry or (await self.recall(target) if there is not None and there.ours else None)

    async def recall(self, target: str) -> Entry | None:
        """Writes down again what is at the target, if that is of a mount that is held. Refusal if nobody can tell."""
        ground = self._ground
        held = await ground.holder.held()
        if (entry := ground.journal.at(target)) is not None:
            return entry
        for each in bound(ground.read(), held, ground.pods):
            if each.mount.place == target:
                kubelets = await ground.apart(partial(ground.targets.beside, target, KUBELETS, LONGEST))
                entry = each.entry(kubelets, ground.boot)
                await ground.apart(partial(ground.journal.write, entry))
                logger.warning("what is published was not written down", extra={"target": target, "key": entry.key})
                return entry
        return None

    async def _is_seen(self, key: str) -> bool:
        held = await self._ground.holder.held()
        return any(each.held.key == key for each in bound(self._ground.read(), held, self._ground.pods))

    async def _place(self, wish: Wish) -> Place:
        if isinstance(wish.place, Place):
            return wish.place
        return await self._ground.filesystems.described(wish.place, read_only=wish.options.read_only)

    async def _held(self, key: str, wish: Wish, place: Place) -> Held:
        if (releasing := self._releasing.get(key)) is not None:
            await asyncio.wait([releasing])
        held = await self._ground.holder.hold(key, told(wish, place))
        if held.state is State.READY:
            return held
        if held.state is State.FAILED:
            raise Refusal(held.why, held.text)
        raise Refusal(Why.PENDING, "the storage is still being mounted; try again")

    async def _appear(self, entry: Entry, held: Held) -> None:
        """Binds it, unless just that is there."""
        ground = self._ground
        source, there = ground.read().top(held.place), ground.read().top(entry.target)
        if source is None or not source.ours:
            raise Refusal(Why.PENDING, "the storage is being mounted anew; try again")
        if there is not None and there.device == source.device and ground.journal.at(entry.target) == entry:
            return
        # First of all it is known: so its end is the driver's to see to, wherever a crash comes.
        await ground.apart(partial(ground.journal.write, entry))
        await ground.apart(partial(ground.targets.make, entry.target))
        if there is None or there.device != source.device:
            bind = partial(ground.targets.bind, held.place, entry.target, read_only=entry.read_only)
            await ground.apart(bind)
        after = ground.read()
        if any(
            each is None or each.device != source.device for each in (after.top(entry.target), after.top(held.place))
        ):
            raise Refusal(Why.PENDING, "what was mounted is gone already; try again")

    async def _clear_unknown(self, target: str) -> None:
        """What a crash may have left is taken off; what is somebody else's stays."""
        await self._check_own(target)
        if any(not layer.ours for layer in self._ground.read().layers(target)):
            raise Refusal(Why.DIFFERENT, "something else is mounted at this target; unmount it first")
        await self._ground.apart(partial(self._ground.targets.clear, target))

    async def _check_own(self, target: str) -> None:
        """Refusal if the kubelet says that another driver is to see to it; there may be two of this kind."""
        ground = self._ground
        driver = told_driver(await ground.apart(partial(ground.targets.beside, target, KUBELETS, LONGEST)))
        if driver not in {ground.driver, ""}:
            raise Refusal(Why.UNREADY, f"this is a volume of the driver {driver[:64]}, and not of {ground.driver}")

    async def _undo(self, target: str) -> None:
        ground = self._ground
        try:
            await ground.apart(partial(ground.targets.clear, target))
        except OSError as error:
            # The kubelet is to ask again, which it does after this answer only.
            raise Refusal(Why.PENDING, f"it failed, and could not be undone: {error.strerror}") from error
        await ground.apart(partial(ground.journal.remove, target))

    async def _unpublish(self, target: str) -> None:
        ground, entry = self._ground, await self._known(target)
        if entry is None:
            await self._check_own(target)
        clear = ground.targets.clear if entry else ground.targets.clear_own
        try:
            await ground.apart(partial(clear, target))
        except OSError as error:
            raise of_error(error, "the volume could not be taken away") from error
        if ground.read().top(target) is not None:
            raise Refusal(Why.PENDING, "something is still mounted at this target; try again")
        await ground.apart(partial(ground.journal.remove, target))
        if entry is not None:
            await self.let_go(entry.key)

    def _unwant(self, key: str) -> None:
        self._wanted[key] -= 1
        if not self._wanted[key]:
            del self._wanted[key]

    async def let_go(self, key: str) -> None:
        """A mount that nobody uses is taken away, as far as is written down and the kernel knows."""
        if self._in_use(key) or await self._is_seen(key) or self._in_use(key) or key in self._releasing:
            return
        releasing = asyncio.ensure_future(self._ground.holder.release(key))
        self._releasing[key] = releasing
        try:
            left = await releasing
        finally:
            del self._releasing[key]
        if left is not None:
            logger.warning("a mount is still being ended", extra={"key": key, "state": left.state})

    def _entry(self, wish: Wish, key: str, held: Held) -> Entry:
        ground = self._ground
        entry = Entry(
            wish.target,
            wish.volume,
            key,
            wish.shape(ground.salt),
            wish.pod,
            wish.options.read_only,
            held.generation,
            ground.boot,
            wish.alone,
        )
        before = ground.journal.at(wish.target)
        # A pod that was told of another way does not lose who it is.
        return replace(entry, pod=entry.pod or (before.pod if before else ""))
