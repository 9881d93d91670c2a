"""Receivers are told that a run is over, at least once, or it is given up."""

from __future__ import annotations

import asyncio
import hmac
import json
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256

import pytest

from pf_kit.events import Fact
from pf_kit.memory import MemoryDatabase
from pf_pipeline.notices.addresses import Endpoint
from pf_pipeline.notices.domain import LONGEST_PAUSE, MOST_ATTEMPTS, Means, Notice, NoticeState, notices_of, pause_after
from pf_pipeline.notices.memory import MemoryNoticeStore
from pf_pipeline.notices.ports import NoAnswer, Refused
from pf_pipeline.notices.sending import LEASE, MOST_OF_ONE, Sender
from pf_pipeline.runs.domain import Order, Run, RunLife
from pf_pipeline.runs.states import RunState
from support.hand_clock import HandClock

NOW = datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)
RUN = Run(
    id="run-000007",
    owner="alice",
    order=Order(name="train", title="nightly", filesystem_id="fs-alice-data", schedule_id="schedule-000001"),
    life=RunLife(create_time=NOW, state=RunState.FAILED, message="step a failed", finish_time=NOW),
)
RECEIVERS: list[dict[str, object]] = [
    {"webhook": "https://example.com/hook", "secret": {"file": "keys/hook"}},
    {"webhook": "http://example.com:8080/"},
    {"command": "echo over"},
]


@dataclass
class Outside:
    """All that is told, and how it is answered."""

    answers: list[int | Exception] = field(default_factory=list)
    secret: bytes | Exception = b"a secret\n"
    posted: list[tuple[Endpoint, dict[str, str], bytes]] = field(default_factory=list)
    begun: list[str] = field(default_factory=list)

    async def post(self, endpoint: Endpoint, headers: dict[str, str], body: bytes) -> int:
        self.posted.append((endpoint, headers, body))
        answer = self.answers.pop(0) if self.answers else 200
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def read(self, notice: Notice) -> bytes:
        if isinstance(self.secret, Exception):
            raise self.secret
        return self.secret

    async def begin(self, notice: Notice) -> None:
        self.begun.append(notice.target)


class Site:
    """A sender, and what it sends to."""

    def __init__(self) -> None:
        self.clock = HandClock(NOW.timestamp())
        self.database = MemoryDatabase(encode=no_events, clock=self.clock)
        self.store = MemoryNoticeStore()
        self.outside = Outside()
        self.sender = Sender(
            database=self.database,
            store=self.store,
            webhooks=self.outside,
            secrets=self.outside,
            commands=self.outside,
            clock=self.clock,
            chance=lambda: 0.0,
        )

    async def add(self, *receivers: int) -> None:
        async with self.database.change() as change:
            await self.store.add(
                change, [each for at, each in enumerate(notices_of(RUN, RECEIVERS)) if at in receivers]
            )

    async def step(self) -> int:
        """Tries what is due; tells how many attempts that were."""
        claimed = await self.sender.claim()
        await asyncio.gather(*map(self.sender.attempt, claimed))
        return len(claimed)

    async def notice(self) -> Notice:
        (notice,) = await self.store.of_run(self.database.newest, RUN.id)
        return notice


def no_events(event: object) -> Fact:
    raise TypeError(event)


@pytest.fixture
def site() -> Site:
    return Site()


def test_a_notice_says_which_run_is_over_and_how() -> None:
    first, second, third = notices_of(RUN, RECEIVERS)
    assert (first.id, second.id, third.id) == ("run-000007-0", "run-000007-1", "run-000007-2")
    assert (first.secret_file, first.filesystem, second.secret_file) == ("keys/hook", "fs-alice-data", "")
    assert (third.means, third.target) == (Means.COMMAND, "echo over")
    assert json.loads(first.body) == {
        "event": "run.ended",
        "run": "run-000007",
        "owner": "alice",
        "pipeline": "train",
        "name": "nightly",
        "state": "failed",
        "message": "step a failed",
        "scheduleId": "schedule-000001",
        "scheduledTime": None,
        "createTime": "2024-05-06T07:08:09+00:00",
        "startTime": None,
        "finishTime": "2024-05-06T07:08:09+00:00",
    }


async def test_a_webhook_is_called_with_a_signature(site: Site) -> None:
    await site.add(0)
    assert await site.step() == 1
    ((endpoint, headers, body),) = site.outside.posted
    assert endpoint == Endpoint(True, "example.com", 443, "/hook")
    assert headers["PaddleFlow-Notice-Id"] == "run-000007-0"
    stamp = int(NOW.timestamp())
    digest = hmac.new(b"a secret", f"{stamp}.".encode() + body, sha256).hexdigest()
    assert headers["PaddleFlow-Signature"] == f"t={stamp},v1={digest}"
    assert (await site.notice()).state is NoticeState.DELIVERED
    assert await site.step() == 0


async def test_without_a_secret_there_is_no_signature(site: Site) -> None:
    await site.add(1)
    await site.step()
    ((_, headers, _),) = site.outside.posted
    assert "PaddleFlow-Signature" not in headers


async def test_a_command_becomes_a_job(site: Site) -> None:
    await site.add(2)
    await site.step()
    assert site.outside.begun == ["echo over"]
    assert (await site.notice()).state is NoticeState.DELIVERED


async def test_what_failed_is_tried_again_later_under_the_same_id(site: Site) -> None:
    await site.add(1)
    site.outside.answers = [503, NoAnswer("example.com cannot be called"), 302, 204]
    for pause, message in [
        (5, "example.com:8080 answered 503"),
        (10, "example.com cannot be called"),
        (20, "answered 302"),
    ]:
        assert await site.step() == 1
        failed = await site.notice()
        assert message in failed.message
        assert failed.due_time == site.clock.now() + timedelta(seconds=pause)
        site.clock.wall += pause - 1
        assert await site.step() == 0
        site.clock.wall += 1
    assert await site.step() == 1
    delivered = await site.notice()
    assert (delivered.state, delivered.attempts, delivered.message) == (NoticeState.DELIVERED, 4, "")
    assert {headers["PaddleFlow-Notice-Id"] for _, headers, _ in site.outside.posted} == {"run-000007-1"}


async def test_it_is_given_up_in_the_end(site: Site) -> None:
    await site.add(1)
    site.outside.answers = [500] * 100
    for _ in range(MOST_ATTEMPTS):
        assert await site.step() == 1
        site.clock.wall += LONGEST_PAUSE.total_seconds()
    assert await site.step() == 0
    assert (await site.notice()).state is NoticeState.GIVEN_UP
    assert (await site.notice()).message == "example.com:8080 answered 500"


@pytest.mark.parametrize("answer", [410, Refused("example.com has the address 10.0.0.1, which is not public")])
async def test_what_cannot_get_better_is_given_up_at_once(site: Site, answer: int | Exception) -> None:
    await site.add(1)
    site.outside.answers = [answer]
    await site.step()
    assert (await site.notice()).state is NoticeState.GIVEN_UP


async def test_without_its_secret_a_notice_is_not_sent(site: Site) -> None:
    await site.add(0)
    site.outside.secret = Refused("there is no file keys/hook")
    await site.step()
    assert not site.outside.posted
    assert (await site.notice()).message == "there is no file keys/hook"


async def test_one_receiver_that_fails_holds_up_no_other(site: Site) -> None:
    await site.add(0, 1, 2)
    site.outside.secret = NoAnswer("the filesystem service is away")
    assert await site.step() == 3
    states = [notice.state for notice in await site.store.of_run(site.database.newest, RUN.id)]
    assert states == [NoticeState.PENDING, NoticeState.DELIVERED, NoticeState.DELIVERED]


async def test_what_a_dead_instance_claimed_is_sent_by_another(site: Site) -> None:
    await site.add(1)
    async with site.database.change() as change:
        await site.store.claim(change, LEASE, 1, [])
    assert await site.step() == 0
    site.clock.wall += LEASE.total_seconds()
    assert await site.step() == 1
    assert len(site.outside.posted) == 1


async def test_receivers_that_do_not_answer_hold_up_only_their_own_owner(site: Site) -> None:
    runs = [replace(RUN, id=f"run-{number}") for number in range(2 * MOST_OF_ONE)]
    async with site.database.change() as change:
        await site.store.add(change, [notice for run in runs for notice in notices_of(run, RECEIVERS[1:2])])
        await site.store.add(change, [*notices_of(replace(RUN, id="run-z", owner="bobby"), RECEIVERS[1:2])])
    stuck: list[Notice] = []
    while claimed := await site.sender.claim():
        stuck += claimed
    assert Counter(notice.owner for notice in stuck) == {"alice": MOST_OF_ONE, "bobby": 1}
    for notice in stuck:
        await site.sender.attempt(notice)
    assert {notice.owner for notice in await site.sender.claim()} == {"alice"}


def test_pauses_grow_and_are_spread() -> None:
    pauses = [pause_after(attempt, 0.0).total_seconds() for attempt in range(1, 13)]
    assert pauses[:4] == [5, 10, 20, 40]
    assert pauses[-1] == 3600
    assert pause_after(1, 1.0) == timedelta(seconds=4)
    assert pause_after(10_000, 0.5) < LONGEST_PAUSE
