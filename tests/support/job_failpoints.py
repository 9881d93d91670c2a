"""Places in the driving of jobs at which a test may have something happen, and real parts that tell of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from enum import StrEnum
from functools import partial
from types import ModuleType
from typing import Any
from unittest.mock import patch

import paddleflow.channel
import pf_job.app
import pf_job.driving.book
import pf_job.driving.loops
import pf_job.driving.trying
import pf_kit.ground
import pf_kit.postgres.log
from paddleflow.channel import CONNECTION
from pf_job.driving.peers_grpc import RemoteAdmission
from pf_job.driving.ports import AttemptKey, GivenBack, Left, Standing, Submitted, Wish
from pf_job.jobs.life import Grant
from pf_job.runtimes.local.adapter import LocalRuntime
from pf_job.runtimes.port import Launch, Refused, ReplicaKey, Sighting
from pf_kit.leases import Leadership, Lease
from pf_kit.postgres.database import PostgresDatabase
from pf_kit.unit import Change
from support.failing_queue import Haste

SOON = {"grpc.min_reconnect_backoff_ms": 100, "grpc.max_reconnect_backoff_ms": 200}
"""Services that were killed are back much sooner here."""


class JobPoint(StrEnum):
    """Where the instance is that drives jobs."""

    SUBMIT = "submit"
    SUBMITTED = "submitted"
    REVISE = "revise"
    REVISED = "revised"
    RELEASE = "release"
    RELEASED = "released"
    RESIZE = "resize"
    RESIZED = "resized"
    REPORT = "report"
    REPORTED = "reported"
    COMPARE = "compare"
    COMPARED = "compared"
    START = "start"
    STARTED = "started"
    STOP = "stop"
    STOPPED = "stopped"
    SEEN = "seen"
    FORGET = "forget"
    FORGOTTEN = "forgotten"
    BEGUN = "begun"
    """A change has begun, and has its locks."""
    WRITTEN = "written"
    """All of a change is written, and COMMIT about to be sent."""
    COMMITTED = "committed"


Passed = Callable[[JobPoint], None]


class FailingAdmission(RemoteAdmission):
    """Tells before and after each call of the queue service."""

    def __init__(self, passed: Passed, *given: Any) -> None:
        super().__init__(*given)
        self._passed = passed

    async def submit(self, wishes: Sequence[Wish]) -> Submitted:
        self._passed(JobPoint.SUBMIT)
        found = await super().submit(wishes)
        self._passed(JobPoint.SUBMITTED)
        return found

    async def revise(self, wishes: Sequence[Wish]) -> None:
        self._passed(JobPoint.REVISE)
        await super().revise(wishes)
        self._passed(JobPoint.REVISED)

    async def release(self, given: Sequence[GivenBack]) -> Mapping[AttemptKey, Grant | None]:
        self._passed(JobPoint.RELEASE)
        found = await super().release(given)
        self._passed(JobPoint.RELEASED)
        return found

    async def resize(self, left: Sequence[Left]) -> Mapping[AttemptKey, Grant]:
        self._passed(JobPoint.RESIZE)
        found = await super().resize(left)
        self._passed(JobPoint.RESIZED)
        return found

    async def report_running(self, running: Mapping[AttemptKey, str]) -> None:
        self._passed(JobPoint.REPORT)
        await super().report_running(running)
        self._passed(JobPoint.REPORTED)

    async def standings(self) -> Sequence[Standing]:
        self._passed(JobPoint.COMPARE)
        found = await super().standings()
        self._passed(JobPoint.COMPARED)
        return found


class FailingRuntime(LocalRuntime):
    """Tells before and after each call of the runner."""

    def __init__(self, passed: Passed, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._passed = passed

    async def start(self, launches: Sequence[Launch]) -> Sequence[Refused]:
        self._passed(JobPoint.START)
        refused = await super().start(launches)
        self._passed(JobPoint.STARTED)
        return refused

    async def stop(self, keys: Sequence[ReplicaKey], grace: int) -> Sequence[ReplicaKey]:
        self._passed(JobPoint.STOP)
        unbegun = await super().stop(keys, grace)
        self._passed(JobPoint.STOPPED)
        return unbegun

    async def watch(self) -> AsyncIterator[Sequence[Sighting]]:
        async for seen in super().watch():
            self._passed(JobPoint.SEEN)
            yield seen

    async def forget(self, keys: Sequence[ReplicaKey]) -> None:
        if keys:
            self._passed(JobPoint.FORGET)
        await super().forget(keys)

    async def drop_logs(self, keys: Sequence[ReplicaKey]) -> None:
        await super().drop_logs(keys)
        if keys:
            self._passed(JobPoint.FORGOTTEN)


class FailingDatabase(PostgresDatabase):
    """Tells how far a change is."""

    def __init__(self, passed: Passed, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._passed = passed

    @asynccontextmanager
    async def change(self, *locks: str, lease: Lease | None = None) -> AsyncIterator[Change]:
        async with super().change(*locks, lease=lease) as change:
            self._passed(JobPoint.BEGUN)
            yield change
            self._passed(JobPoint.WRITTEN)
        self._passed(JobPoint.COMMITTED)


def failing_jobs(passed: Passed, haste: Haste) -> ExitStack:
    """Inside, the service is put together from parts with failpoints, and takes less time for all."""
    inside = ExitStack()
    parts: Mapping[ModuleType, Mapping[str, Any]] = {
        pf_job.app: {
            "RemoteAdmission": partial(FailingAdmission, passed),
            "LocalRuntime": partial(FailingRuntime, passed),
        },
        pf_kit.ground: {
            "PostgresDatabase": partial(FailingDatabase, passed),
            "Leadership": partial(Leadership, ttl=haste.ttl, pause=haste.pause, margin=haste.margin),
        },
        pf_job.driving.loops: {"EXPIRED_SECONDS": 0.2, "LEFT_SECONDS": 10.0, "LATE_SECONDS": 0.2},
        pf_job.driving.trying: {"LONGEST_BACKOFF": 0.3},
        pf_kit.postgres.log: {"POLL": haste.pause},
        pf_job.driving.book: {"PAUSE": haste.pause},
        paddleflow.channel: {"CONNECTION": [(name, SOON.get(name, value)) for name, value in CONNECTION]},
    }
    for module, replaced in parts.items():
        inside.enter_context(patch.multiple(module, **replaced))
    return inside
