"""Seals secrets anew after a new key was put before the old ones, so that the old ones can go."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from paddleflow.problems import Problem, SecretsUnreadable
from pf_fs.domain import Placed, Secrets
from pf_fs.store import LOCK
from pf_fs.vault import Vault
from pf_kit.unit import Change, Database, View

logger = logging.getLogger(__name__)

P = TypeVar("P", bound=Placed)

BATCH = 100
"""Things that are sealed anew by one change: others wait for it."""
PAUSE = 600.0
"""Seconds until it is looked again: another instance may still have sealed with the old key."""


class SealedThings(Protocol[P]):
    """The store of things with secrets, as far as these go."""

    async def secret_keys(self, view: View) -> Mapping[str, int]:
        """Which keys sealed secrets, and of how many things each."""

    async def sealed_with(self, view: View, keys: Collection[str], limit: int) -> Sequence[P]:
        """Some things with secrets that one of these keys sealed."""

    async def reseal(self, change: Change, thing: P, secrets: Secrets, /) -> None:
        """Keeps the same secrets, sealed with another key."""


class Resealing:
    """Each batch is whole by itself. Whoever is killed, or does it beside another, does no harm."""

    def __init__(self, *, database: Database, things: Mapping[str, SealedThings[Any]], vault: Vault) -> None:
        """The things by what they are called."""
        self._database = database
        self._things = things
        self._vault = vault

    async def run(self) -> None:
        """Looks again and again, for ever."""
        while True:
            try:
                await self.go()
            except Problem as problem:
                logger.warning("sealing anew failed", extra={"reason": problem.reason, "why": problem.message})
            await asyncio.sleep(PAUSE)

    async def go(self) -> int:
        """Seals all secrets with the newest key that have another one; of how many things they were."""
        return sum([await self._all(called, things) for called, things in self._things.items()])

    async def _all(self, called: str, things: SealedThings[Any]) -> int:
        keys = await things.secret_keys(self._database.newest)
        self._tell_of_missing(called, {key: number for key, number in keys.items() if not self._vault.has(key)})
        outdated = self._vault.outdated(keys)
        total, done = sum(keys[key] for key in outdated), 0
        while outdated and (number := await self._batch(things, outdated)):
            done += number
            told = {"of": called, "key": self._vault.newest, "done": done, "all": total}
            logger.info("secrets sealed anew", extra=told)
        return done

    async def _batch(self, things: SealedThings[P], keys: Collection[str]) -> int:
        done = 0
        async with self._database.change(LOCK) as change:
            for each in await things.sealed_with(change, keys, BATCH):
                try:
                    sealed = self._vault.resealed(each)
                except SecretsUnreadable as problem:
                    logger.error("secrets cannot be read", extra={"why": problem.message})  # noqa: TRY400 - no fault of ours
                    continue
                await things.reseal(change, each, sealed)
                done += 1
        return done

    def _tell_of_missing(self, called: str, missing: Mapping[str, int]) -> None:
        for key, number in missing.items():
            logger.error(
                "secrets cannot be read: a key is missing in PF_FS_CREDENTIAL_KEYS; restore it from a back-up",
                extra={"of": called, "key": key, "number": number},
            )
