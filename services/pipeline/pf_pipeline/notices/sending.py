"""Tells receivers: each at least once, or it is given up and said why."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
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

AT_ONCE = 200
"""Notices that are tried at once."""
TOGETHER = 20
"""Notices that are claimed at once."""
MOST_OF_ONE = 20
"""Notices of one owner under way, from which on no more of it are claimed: its receivers that do not answer must not
hold up others."""
LEASE = timedelta(seconds=60)
"""After this time another instance may try a notice: longer than an attempt lasts."""
BREATH = 0.05
"""Seconds until it is looked again if as many are under way as may."""
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
    _busy: Counter[str] = field(default_factory=Counter)
    """Notices under way, by owner."""

    async def run(self) -> None:
        """Goes on until it is cancelled."""
        async with asyncio.TaskGroup() as group:
            while True:
                if self._busy.total() >= AT_ONCE:
                    await asyncio.sleep(BREATH)
                elif claimed := await self._claimed():
                    for notice in claimed:
                        group.create_task(self.attempt(notice))
                else:
                    await asyncio.sleep(PAUSE)

    async def claim(self) -> Sequence[Notice]:
        """Notices that are due, for this instance to try."""
        full = [owner for owner, count in self._busy.items() if count >= MOST_OF_ONE]
        async with self.database.change() as change:
            claimed = await self.store.claim(change, LEASE, TOGETHER, full)
        self._busy.update(notice.owner for notice in claimed)
        return claimed

    async def attempt(self, notice: Notice) -> None:
        """Tries a notice that was claimed, and notes how that ended. What is not noted is tried again."""
        try:
            tried = await self._tried(notice)
            async with self.database.change() as change:
                await self.store.settle(change, [self._due_again(tried, change.time)])
        except Problem as problem:
            logger.warning("a notice is tried again", extra={"notice": notice.id, "reason": str(problem)})
        finally:
            self._done(notice.owner)

    def _done(self, owner: str) -> None:
        self._busy.subtract([owner])
        if not self._busy[owner]:
            del self._busy[owner]

    async def _claimed(self) -> Sequence[Notice]:
        try:
            return await self.claim()
        except Problem as problem:
            logger.warning("notices have to wait", extra={"reason": str(problem)})
            return []

    async def _tried(self, notice: Notice) -> Notice:
        """The notice after an attempt."""
        try:
            await self._tell(notice)
        except Refused as refused:
            logger.warning("a notice is given up", extra={"notice": notice.id, "reason": str(refused)})
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
