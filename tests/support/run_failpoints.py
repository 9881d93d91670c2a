"""Places in the driving of runs at which a test may have something happen, and real parts that tell of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from datetime import datetime, timedelta
from enum import StrEnum
from functools import partial
from types import ModuleType
from typing import Any
from unittest.mock import patch

import paddleflow.channel
import pf_kit.ground
import pf_kit.postgres.log
import pf_pipeline.app
import pf_pipeline.engine.driver
import pf_pipeline.engine.executors.jobs
import pf_pipeline.engine.library
import pf_pipeline.engine.trying
import pf_pipeline.notices.domain
import pf_pipeline.notices.sending
import pf_pipeline.notices.webhooks
from paddleflow.channel import CONNECTION
from paddleflow.problems import Problem
from pf_kit.leases import Leadership, Lease
from pf_kit.postgres.database import PostgresDatabase
from pf_kit.unit import Change, View
from pf_pipeline.artifacts.domain import Claim, NodeKey
from pf_pipeline.artifacts.ports import Ask, Fault, Pending, Piece
from pf_pipeline.artifacts.postgres import PostgresArtifactStore
from pf_pipeline.documents.model import CacheMode
from pf_pipeline.engine.executors.jobs import JobView, Listed
from pf_pipeline.engine.ports import End, Start
from pf_pipeline.notices.addresses import Endpoint
from pf_pipeline.notices.domain import Notice
from pf_pipeline.notices.postgres import PostgresNoticeStore
from pf_pipeline.notices.webhooks import HttpWebhooks
from pf_pipeline.owners import Owner
from pf_pipeline.peers_grpc.commands import RemoteCommands
from pf_pipeline.peers_grpc.files import RemoteFiles
from pf_pipeline.peers_grpc.jobs import RemoteJobs
from pf_pipeline.runs.domain import Loop, Wish
from pf_pipeline.runs.postgres import PostgresRunStore
from pf_pipeline.schedules.domain import Tick
from pf_pipeline.schedules.postgres import PostgresScheduleStore
from support.failing_queue import Haste
from support.job_failpoints import SOON

PATIENCE = 0.5
"""Seconds that a receiver of notices has for its answer."""


class RunPoint(StrEnum):
    """Where the instance is that drives runs."""

    BEGUN = "begun"
    """A change has begun, and has its locks."""
    WRITTEN = "written"
    """All of a change is written, and COMMIT about to be sent."""
    COMMITTED = "committed"
    RESTORE = "restore"
    """It leads, and has read nothing."""
    RESTORED = "restored"
    """It has read the first run."""
    WISHED = "wished"
    """It has read what is wanted, and done nothing about it."""
    CREATE = "create"
    CREATED = "created"
    STOP = "stop"
    STOPPED = "stopped"
    SEEN = "seen"
    """A job has changed, and its run has not heard."""
    PREPARE = "prepare"
    PREPARED = "prepared"
    READ = "read"
    READ_ALL = "read_all"
    DIGEST = "digest"
    DIGESTED = "digested"
    CLAIM = "claim"
    CLAIMED = "claimed"
    OWNED = "owned"
    """It knows whose a job is to be, and is about to create it."""
    TICK = "tick"
    """Any instance: it has found ticks that are due."""
    TICKED = "ticked"
    """Any instance: runs of ticks are written, and not committed."""
    TELL = "tell"
    """Any instance: it has claimed a notice, and is about to tell it."""
    TOLD = "told"
    """Any instance: a receiver has answered, and nobody has noted it."""
    SETTLED = "settled"
    """Any instance: it is noted that a notice is told, and not committed."""


BESIDE = frozenset({RunPoint.OWNED, RunPoint.TICK, RunPoint.TICKED, RunPoint.TELL, RunPoint.TOLD, RunPoint.SETTLED})
"""Points that not every run comes to."""
DRIVING = tuple(point for point in RunPoint if point not in BESIDE)

Passed = Callable[[RunPoint], None]


class FailingJobs(RemoteJobs):
    """Tells before and after each call of the job service that changes something."""

    def __init__(self, passed: Passed, *given: Any) -> None:
        super().__init__(*given)
        self._passed = passed

    async def create(self, owner: Owner, steps: Sequence[Start]) -> Sequence[JobView | Problem]:
        self._passed(RunPoint.CREATE)
        self._passed(RunPoint.OWNED)
        made = await super().create(owner, steps)
        self._passed(RunPoint.CREATED)
        return made

    async def stop(self, step: End) -> None:
        self._passed(RunPoint.STOP)
        await super().stop(step)
        self._passed(RunPoint.STOPPED)

    async def watch(self) -> AsyncIterator[JobView | Listed]:
        async for told in super().watch():
            self._passed(RunPoint.SEEN)
            yield told


class FailingFiles(RemoteFiles):
    """Tells before and after each call of the filesystem service."""

    def __init__(self, passed: Passed, *given: Any) -> None:
        super().__init__(*given)
        self._passed = passed

    async def prepare(self, ask: Ask, paths: Sequence[str]) -> Sequence[Fault | Pending | None]:
        self._passed(RunPoint.PREPARE)
        done = await super().prepare(ask, paths)
        self._passed(RunPoint.PREPARED)
        return done

    async def read(self, ask: Ask, paths: Sequence[str], longest: int) -> Sequence[Piece | Fault]:
        self._passed(RunPoint.READ)
        found = await super().read(ask, paths, longest)
        self._passed(RunPoint.READ_ALL)
        return found

    async def digest(self, ask: Ask, paths: Sequence[str], mode: CacheMode) -> Sequence[str | Pending | Fault]:
        self._passed(RunPoint.DIGEST)
        found = await super().digest(ask, paths, mode)
        self._passed(RunPoint.DIGESTED)
        return found


class FailingRuns(PostgresRunStore):
    """Tells what is read of runs."""

    def __init__(self, passed: Passed) -> None:
        super().__init__()
        self._passed = passed

    async def unfinished(self, view: View) -> Sequence[str]:
        self._passed(RunPoint.RESTORE)
        return await super().unfinished(view)

    async def loops(self, view: View, run: str) -> Mapping[str, Loop]:
        found = await super().loops(view, run)
        self._passed(RunPoint.RESTORED)
        return found

    async def wishes(self, view: View, after: int, limit: int) -> Sequence[Wish]:
        found = await super().wishes(view, after, limit)
        if found:
            self._passed(RunPoint.WISHED)
        return found


class FailingArtifacts(PostgresArtifactStore):
    """Tells who is about to do what others may be about to do."""

    def __init__(self, passed: Passed) -> None:
        super().__init__()
        self._passed = passed

    async def claim(self, change: Change, claims: Sequence[Claim]) -> Any:
        self._passed(RunPoint.CLAIM)
        holders: Mapping[Any, NodeKey] = await super().claim(change, claims)
        self._passed(RunPoint.CLAIMED)
        return holders


class FailingSchedules(PostgresScheduleStore):
    """Tells what becomes of ticks."""

    def __init__(self, passed: Passed) -> None:
        super().__init__()
        self._passed = passed

    async def due(self, view: View, now: datetime, limit: int) -> Sequence[str]:
        found = await super().due(view, now, limit)
        if found:
            self._passed(RunPoint.TICK)
        return found

    async def keep_ticks(self, change: Change, ticks: Sequence[Tick]) -> None:
        await super().keep_ticks(change, ticks)
        self._passed(RunPoint.TICKED)


class FailingNotices(PostgresNoticeStore):
    """Tells what is noted of notices."""

    def __init__(self, passed: Passed) -> None:
        super().__init__()
        self._passed = passed

    async def settle(self, change: Change, notices: Sequence[Notice]) -> None:
        await super().settle(change, notices)
        self._passed(RunPoint.SETTLED)


class FailingWebhooks(HttpWebhooks):
    """Tells before and after each call."""

    def __init__(self, passed: Passed, **given: Any) -> None:
        super().__init__(**given)
        self._passed = passed

    async def post(self, endpoint: Endpoint, headers: Mapping[str, str], body: bytes) -> int:
        self._passed(RunPoint.TELL)
        status = await super().post(endpoint, headers, body)
        self._passed(RunPoint.TOLD)
        return status


class FailingCommands(RemoteCommands):
    """Tells before and after each command."""

    def __init__(self, passed: Passed, *given: Any) -> None:
        super().__init__(*given)
        self._passed = passed

    async def begin(self, notice: Notice) -> None:
        self._passed(RunPoint.TELL)
        await super().begin(notice)
        self._passed(RunPoint.TOLD)


class FailingDatabase(PostgresDatabase):
    """Tells how far a change is."""

    def __init__(self, passed: Passed, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._passed = passed

    @asynccontextmanager
    async def change(self, *locks: str, lease: Lease | None = None) -> AsyncIterator[Change]:
        async with super().change(*locks, lease=lease) as change:
            self._passed(RunPoint.BEGUN)
            yield change
            self._passed(RunPoint.WRITTEN)
        self._passed(RunPoint.COMMITTED)


def failing_runs(passed: Passed, haste: Haste) -> ExitStack:
    """Inside, the service is put together from parts with failpoints, and takes less time for all."""
    inside = ExitStack()
    parts: Mapping[ModuleType, Mapping[str, Any]] = {
        pf_pipeline.app: {
            "RemoteJobs": partial(FailingJobs, passed),
            "RemoteFiles": partial(FailingFiles, passed),
            "PostgresRunStore": partial(FailingRuns, passed),
            "PostgresArtifactStore": partial(FailingArtifacts, passed),
            "PostgresScheduleStore": partial(FailingSchedules, passed),
            "PostgresNoticeStore": partial(FailingNotices, passed),
            "HttpWebhooks": partial(FailingWebhooks, passed),
            "RemoteCommands": partial(FailingCommands, passed),
        },
        pf_kit.ground: {
            "PostgresDatabase": partial(FailingDatabase, passed),
            "Leadership": partial(Leadership, ttl=haste.ttl, pause=haste.pause, margin=haste.margin),
        },
        pf_kit.postgres.log: {"POLL": haste.pause},
        pf_pipeline.engine.driver: {"TICK_SECONDS": haste.pause, "AGAIN_SECONDS": haste.pause},
        pf_pipeline.engine.executors.jobs: {"AGAIN_SECONDS": haste.pause},
        pf_pipeline.engine.library: {"LOOK_SECONDS": haste.pause},
        pf_pipeline.engine.trying: {"AGAIN_SECONDS": haste.pause, "LONGEST_SECONDS": 3 * haste.pause},
        pf_pipeline.notices.domain: {"FIRST_PAUSE": timedelta(seconds=haste.pause)},
        pf_pipeline.notices.sending: {"LEASE": timedelta(seconds=4 * PATIENCE), "PAUSE": haste.pause},
        pf_pipeline.notices.webhooks: {"PATIENCE": PATIENCE},
        paddleflow.channel: {"CONNECTION": [(name, SOON.get(name, value)) for name, value in CONNECTION]},
    }
    for module, replaced in parts.items():
        inside.enter_context(patch.multiple(module, **replaced))
    return inside
