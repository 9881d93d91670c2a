"""Tells receivers: each at least once, or it is given up and said why."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from paddleflow.problems import Problem
from pf_kit.clock import Clock
from pf_kit.unit import Database
from pf_pipeline.notices.addresses import NoWebhook, endpoint_of
from pf_pipeline.notices.domain import (
    MESSAGE_LENGTH,
    MOST_ATTEMPTS,
    Means,
    Notice,
    NoticeState,
    pause_after,
    signature,
)
from pf_pipeline.notices.ports import Commands, NoAnswer, Refused, Secrets, Webhooks
from pf_pipeline.notices.store import NoticeStore

logger = logging.getLogger(__name__)

TOGETHER = 20
"""Notices that are tried at once."""
LEASE = timedelta(seconds=60)
"""After this time another instance may try a notice: longer than an attempt lasts."""
PAUSE = 1.0
"""Seconds between two looks for notices that are due."""
GONE = 410
"""The status with which a receiver says that it wants no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """Tells receivers."""

    database: Database
    store: NoticeStore
    webhooks: Webhooks
    secrets: Secrets
    commands: Commands
    clock: Clock
    chance: Callable[[], float]
    """From 0 to 1."""

    async def run(self) -> None:
        """Goes on until it is cancelled."""
        while True:
            try:
                sent = await self.step()
            except Problem as problem:
                logger.warning("notices have to wait", extra={"reason": str(problem)})
                sent = 0
            if not sent:
                await asyncio.sleep(PAUSE)

    async def step(self) -> int:
        """Tries what is due; tells how many attempts that were."""
        async with self.database.change() as change:
            claimed = await self.store.claim(change, LEASE, TOGETHER)
        if not claimed:
            return 0
        tried = await asyncio.gather(*map(self._tried, claimed))
        async with self.database.change() as change:
            await self.store.settle(change, [self._due_again(notice, change.time) for notice in tried])
        return len(claimed)

    async def _tried(self, notice: Notice) -> Notice:
        """The notice after an attempt."""
        try:
            await self._tell(notice)
        except Refused as refused:
            return replace(notice, state=NoticeState.GIVEN_UP, message=str(refused)[:MESSAGE_LENGTH])
        except NoAnswer as failed:
            over = notice.attempts >= MOST_ATTEMPTS
            state = NoticeState.GIVEN_UP if over else NoticeState.PENDING
            return replace(notice, state=state, message=str(failed)[:MESSAGE_LENGTH])
        return replace(notice, state=NoticeState.DELIVERED, message="")

    async def _tell(self, notice: Notice) -> None:
        if notice.means is Means.COMMAND:
            await self.commands.begin(notice)
            return
        try:
            endpoint = endpoint_of(notice.target)
        except NoWebhook as error:
            raise Refused(str(error)) from None
        status = await self.webhooks.post(endpoint, await self._headers(notice), notice.body.encode())
        if status == GONE:
            raise Refused(f"{endpoint.authority} answered {status}: it wants no more notices")
        if not 200 <= status < 300:
            raise NoAnswer(f"{endpoint.authority} answered {status}")

    async def _headers(self, notice: Notice) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "PaddleFlow-Notice-Id": notice.id}
        if notice.secret_file:
            secret = (await self.secrets.read(notice)).strip()
            headers["PaddleFlow-Signature"] = signature(secret, int(self.clock.now().timestamp()), notice.body)
        return headers

    def _due_again(self, notice: Notice, now: datetime) -> Notice:
        if notice.state is not NoticeState.PENDING:
            return notice
        return replace(notice, due_time=now + pause_after(notice.attempts, self.chance()))
