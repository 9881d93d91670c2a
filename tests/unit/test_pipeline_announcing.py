"""What is to be told of a run is kept with its end; secrets are read as its owner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import pytest

from paddleflow.problems import FileNotFound, PermissionDenied, Problem, Unavailable
from pf_kit.events import Fact
from pf_kit.memory import MemoryDatabase
from pf_kit.unit import Change
from pf_pipeline.artifacts.ports import Ask, Fault, Piece
from pf_pipeline.joints.notices import Announcing, FileSecrets
from pf_pipeline.notices.domain import Means, Notice
from pf_pipeline.notices.memory import MemoryNoticeStore
from pf_pipeline.notices.ports import NoAnswer, Refused
from pf_pipeline.peers_grpc.commands import job_of, owner_of
from pf_pipeline.runs.domain import Executor, Order, Run, RunLife
from pf_pipeline.runs.states import RunState
from pf_pipeline.runs.store import Turn
from support.hand_clock import HandClock
from support.owners import Everybody

RECEIVERS = ({"webhook": "https://example.com/hook"}, {"command": "echo over"})
NOW = datetime(2024, 5, 6, tzinfo=UTC)
RUN = Run(
    id="run-000007",
    owner="alice",
    order=Order(name="train", filesystem_id="fs-alice-data", notify=RECEIVERS),
    life=RunLife(create_time=NOW, state=RunState.SUCCEEDED, finish_time=NOW),
)
NOTICE = Notice(
    id="run-000007-0",
    run="run-000007",
    owner="alice",
    means=Means.COMMAND,
    target="echo over",
    secret_file="keys/hook",
    filesystem="fs-alice-data",
    body="{}",
)


@dataclass
class Recorded:
    """What else is kept of runs."""

    turns: list[Turn] = field(default_factory=list)

    async def record(self, change: Change, turns: Sequence[Turn]) -> None:
        self.turns += turns

    def kept(self, turns: Sequence[Turn]) -> None:
        """Nobody asks for that."""


@dataclass
class OneFile:
    """Files that all are the same."""

    answer: Piece | Fault | Problem
    asked: list[tuple[Ask, Sequence[str]]] = field(default_factory=list)

    async def read(self, ask: Ask, paths: Sequence[str], longest: int) -> Sequence[Piece | Fault]:
        self.asked.append((ask, paths))
        if isinstance(self.answer, Problem):
            raise self.answer
        return [self.answer]


def no_events(event: object) -> Fact:
    raise TypeError(event)


async def announced(run: Run) -> list[Notice]:
    database, store, recorded = MemoryDatabase(encode=no_events, clock=HandClock()), MemoryNoticeStore(), Recorded()
    announcing = Announcing(other=recorded, store=store)
    async with database.change() as change:
        await announcing.record(change, [Turn(run=run)])
    assert [turn.run for turn in recorded.turns] == [run]
    return list(await store.of_run(database.newest, run.id))


async def test_the_end_of_a_run_is_to_be_told() -> None:
    assert [(notice.means, notice.target) for notice in await announced(RUN)] == [
        (Means.WEBHOOK, "https://example.com/hook"),
        (Means.COMMAND, "echo over"),
    ]


@pytest.mark.parametrize(
    "run",
    [
        replace(RUN, life=replace(RUN.life, state=RunState.RUNNING)),
        replace(RUN, order=replace(RUN.order, executor=Executor.NOTHING)),
    ],
)
async def test_what_is_not_over_or_only_tried_is_not(run: Run) -> None:
    assert await announced(run) == []


async def test_a_secret_is_read_as_the_owner_of_the_run() -> None:
    files = OneFile(Piece(b"a secret\n", 9))
    assert await FileSecrets(files, Everybody()).read(NOTICE) == b"a secret\n"  # type: ignore[arg-type]  # nothing else is asked
    assert files.asked == [(Ask("alice", "fs-alice-data"), ["keys/hook"])]


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (Fault(FileNotFound("there is no file")), Refused),
        (Piece(b" \n", 2), Refused),
        (Piece(b"x" * 4096, 5000), Refused),
        (PermissionDenied("no"), Refused),
        (Unavailable("away"), NoAnswer),
    ],
)
async def test_a_secret_that_cannot_be_read_says_so(answer: Piece | Fault | Problem, outcome: type[Exception]) -> None:
    with pytest.raises(outcome, match="secret"):
        await FileSecrets(OneFile(answer), Everybody()).read(NOTICE)  # type: ignore[arg-type]  # as above


def test_a_command_is_a_job_that_is_named_by_its_notice_and_whose_id_nobody_foretells() -> None:
    spec = job_of(NOTICE)
    assert (spec.id, spec.name, spec.command) == ("", "notice-run-000007-0", "echo over")
    assert spec.fs.id == "fs-alice-data"
    assert owner_of(NOTICE).key == "notice/run-000007-0"
    assert dict(spec.env) == {"PF_NOTICE": "{}", "PF_RUN_ID": "run-000007"}
    assert not job_of(replace(NOTICE, filesystem="")).HasField("fs")
