"""Seals secrets anew after a new key was put before the old ones, so that the old ones can go."""

from __future__ import annotations

import asyncio
import logging

from paddleflow.problems import Problem
from pf_fs.store import LOCK, FilesystemStore
from pf_fs.vault import Vault
from pf_kit.unit import Database

logger = logging.getLogger(__name__)

BATCH = 100
"""Filesystems that are sealed anew by one change: others wait for it."""
PAUSE = 600.0
"""Seconds until it is looked again: another instance may still have sealed with the old key."""


class Resealing:
    """Each batch is whole by itself. Whoever is killed, or does it beside another, does no harm."""

    def __init__(self, *, database: Database, store: FilesystemStore, vault: Vault) -> None:
        self._database = database
        self._store = store
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
        """Seals all secrets with the newest key that have another one; how many filesystems' they were."""
        keys = await self._store.secret_keys(self._database.newest)
        self._tell_of_missing({key: number for key, number in keys.items() if not self._vault.has(key)})
        total = sum(number for key, number in keys.items() if key != self._vault.newest and self._vault.has(key))
        if not total:
            return 0
        done, after = 0, ""
        while batch := await self._batch(after):
            after, number = batch
            done += number
            logger.info("secrets sealed anew", extra={"key": self._vault.newest, "done": done, "of": total})
        logger.info("all secrets are sealed with the newest key", extra={"key": self._vault.newest})
        return done

    async def _batch(self, after: str) -> tuple[str, int] | None:
        """Where the next batch begins, and how many of this one were sealed anew; None at the end."""
        async with self._database.change(LOCK) as change:
            found = await self._store.sealed_otherwise(change, self._vault.newest, after, BATCH)
            readable = [each for each in found if self._vault.has(each.secrets.key)]
            for each in readable:
                sealed = self._vault.seal(each.id, each.owner, self._vault.open(each))
                await self._store.reseal(change, each.id, sealed)
        return (found[-1].id, len(readable)) if found else None

    def _tell_of_missing(self, missing: dict[str, int]) -> None:
        for key, number in missing.items():
            logger.error(
                "secrets cannot be read: a key is missing in PF_FS_CREDENTIAL_KEYS; restore it from a back-up",
                extra={"key": key, "filesystems": number},
            )
