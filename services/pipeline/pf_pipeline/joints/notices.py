"""Runs that are over, as notices want them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from paddleflow.problems import Problem
from pf_kit.unit import Change
from pf_pipeline.artifacts.ports import Ask, Fault, Files
from pf_pipeline.engine.ports import Chronicle
from pf_pipeline.engine.trying import LASTING
from pf_pipeline.notices.domain import Notice, notices_of
from pf_pipeline.notices.ports import NoAnswer, Refused
from pf_pipeline.notices.store import NoticeStore
from pf_pipeline.owners import Users
from pf_pipeline.peers_grpc.users import require_there
from pf_pipeline.runs.domain import Executor
from pf_pipeline.runs.states import RUN_OVER
from pf_pipeline.runs.store import Turn

LONGEST_SECRET = 4096
"""Bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Announcing:
    """Fulfils `Chronicle`: keeps, beside all else, what is to be told when a run is over."""

    other: Chronicle
    store: NoticeStore

    async def record(self, change: Change, turns: Sequence[Turn]) -> None:
        """Keeps it in the same commit as the turns."""
        await self.other.record(change, turns)
        over = [turn.run for turn in turns if turn.run.life.state in RUN_OVER]
        # What runs nothing is only tried, and nobody waits for it.
        real = [run for run in over if run.order.executor is not Executor.NOTHING]
        notices = [notice for run in real for notice in notices_of(run, run.order.notify)]
        if notices:
            await self.store.add(change, notices)

    def kept(self, turns: Sequence[Turn]) -> None:
        """The commit came through."""
        self.other.kept(turns)


@dataclass(frozen=True, slots=True)
class FileSecrets:
    """Fulfils `Secrets` of notices: they lie in files of the main filesystem, which the owner of the run can read."""

    files: Files
    users: Users

    async def read(self, notice: Notice) -> bytes:
        """The secret of a notice."""
        try:
            await require_there(self.users, notice.whose)
            (piece,) = await self.files.read(
                Ask(notice.owner, notice.filesystem, notice.owner_since), [notice.secret_file], LONGEST_SECRET
            )
        except LASTING as problem:
            raise Refused(f"the secret cannot be read: {problem}") from None
        except Problem as problem:
            raise NoAnswer(f"the secret cannot be read now: {problem}") from None
        if isinstance(piece, Fault):
            raise Refused(f"the secret {notice.secret_file!r} cannot be read: {piece.problem}")
        if not piece.data.strip() or piece.size > LONGEST_SECRET:
            raise Refused(f"the secret {notice.secret_file!r} must have from 1 to {LONGEST_SECRET} bytes")
        return piece.data
