"""Lets go of the jobs of users who were deleted: whoever gets a name next gets none of them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime

from pf_job.driving.book import Book
from pf_job.jobs.domain import Job, Owner
from pf_job.jobs.ports import Users
from pf_job.jobs.states import FINAL, Stage, State

LOOK_SECONDS = 30.0
"""Between two looks, if no user is heard to be deleted: a job may be taken while its owner is."""
STOPPING_SECONDS = 2.0
"""The same, while jobs of somebody who left are about to end."""


class Leaving:
    """Stops the jobs of users who are no more, and forgets them as soon as they are over."""

    def __init__(self, book: Book, users: Users, left: asyncio.Event) -> None:
        """`left` is set when a user was deleted."""
        self._book = book
        self._users = users
        self._left = left
        self._stopping = False

    async def step(self) -> int:
        """Tells how many jobs were stopped or forgotten."""
        self._left.clear()
        self._stopping = False
        # Before those who are there: whoever owns a job by now and is not among these is gone, whatever any clock says.
        owners = await self._book.owners()
        known = await self._users.all() if owners else {}
        return sum([await self._let_go(owner) for owner in owners if is_gone(owner, known)])

    async def pause(self) -> None:
        """Waits until there may be something to do."""
        with suppress(TimeoutError):
            async with asyncio.timeout(STOPPING_SECONDS if self._stopping else LOOK_SECONDS):
                await self._left.wait()

    async def _let_go(self, owner: Owner) -> int:
        done = 0
        async for jobs in self._book.owned(owner):
            over = [job for job in jobs if job.life.stage is Stage.OVER]
            self._stopping |= len(over) < len(jobs)
            done += len(await self._book.let_go([job for job in jobs if _goes_on(job)], why(owner)))
            await self._forget(over)
            done += len(over)
        return done

    async def _forget(self, over: Sequence[Job]) -> None:
        if over:
            await self._book.forget(over)


def is_gone(owner: Owner, known: Mapping[str, datetime]) -> bool:
    """True unless the owner is among the users that are known, and not only somebody of the same name."""
    return owner.name not in known or not owner.is_of(Owner(owner.name, known[owner.name]))


def why(owner: Owner) -> str:
    """What is said of a job that is stopped."""
    return f"stopped, since the user {owner.name}, whose job it was, has been deleted"


def _goes_on(job: Job) -> bool:
    return job.life.state not in FINAL and job.life.state is not State.TERMINATING
