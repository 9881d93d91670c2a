"""Notices: what others are told when a run is over."""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from hashlib import sha256

from pf_kit.changes import UNBORN
from pf_pipeline.owners import Owner
from pf_pipeline.runs.domain import Run

MOST_ATTEMPTS = 12
FIRST_PAUSE = timedelta(seconds=5)
LONGEST_PAUSE = timedelta(hours=1)
"""Between two attempts: twelve of them last about four hours."""
MESSAGE_LENGTH = 500


class NoticeState(StrEnum):
    """Where a notice stands."""

    PENDING = "pending"
    DELIVERED = "delivered"
    GIVEN_UP = "given_up"


class Means(StrEnum):
    """How somebody is told."""

    WEBHOOK = "webhook"
    COMMAND = "command"


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """One thing to be told to one receiver."""

    id: str
    """The same at each attempt, so that a receiver knows what it was told before."""
    run: str
    owner: str
    owner_since: datetime = UNBORN
    """See `Owner`."""
    means: Means
    target: str
    """A URL, or a command."""
    secret_file: str = ""
    """In the main filesystem of the run: what signs the notice. Empty: nothing does."""
    filesystem: str = ""
    """The id of that filesystem."""
    body: str
    """JSON."""
    state: NoticeState = NoticeState.PENDING
    attempts: int = 0
    message: str = ""
    """Why the last attempt failed."""
    due_time: datetime = UNBORN

    @property
    def whose(self) -> Owner:
        return Owner(self.owner, self.owner_since)


def notices_of(run: Run, receivers: Sequence[Mapping[str, object]]) -> Iterator[Notice]:
    """What is to be told when a run is over; `receivers` stand in its plan."""
    body = json.dumps(_told(run), sort_keys=True)
    for number, receiver in enumerate(receivers):
        secret = receiver.get("secret")
        yield Notice(
            id=f"{run.id}-{number}",
            run=run.id,
            owner=run.owner,
            owner_since=run.owner_since,
            means=Means.WEBHOOK if "webhook" in receiver else Means.COMMAND,
            target=str(receiver.get("webhook") or receiver.get("command") or ""),
            secret_file=str(secret.get("file", "")) if isinstance(secret, Mapping) else "",
            filesystem=run.order.filesystem_id,
            body=body,
        )


def signature(secret: bytes, stamp: int, body: str) -> str:
    """Proves to whoever knows the secret that a notice is ours, and how old it is."""
    digest = hmac.new(secret, f"{stamp}.{body}".encode(), sha256).hexdigest()
    return f"t={stamp},v1={digest}"


def pause_after(attempts: int, chance: float) -> timedelta:
    """How long it is waited after so many attempts that failed; up to a fifth of it is left to chance, 0 to 1."""
    pause = min(FIRST_PAUSE * (1 << min(attempts - 1, 20)), LONGEST_PAUSE)
    return pause * (1 - chance / 5)


def _told(run: Run) -> Mapping[str, object]:
    life, order = run.life, run.order
    return {
        "event": "run.ended",
        "run": run.id,
        "owner": run.owner,
        "pipeline": order.name,
        "name": order.title,
        "state": life.state,
        "message": life.message,
        "scheduleId": order.schedule_id,
        "scheduledTime": _written(order.scheduled_time),
        "createTime": _written(life.create_time),
        "startTime": _written(life.start_time),
        "finishTime": _written(life.finish_time),
    }


def _written(time: datetime | None) -> str | None:
    return time.isoformat() if time else None
