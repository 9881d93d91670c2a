"""Where questions about results come in one by one, and are answered together."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from paddleflow.problems import FailedPrecondition, InvalidArgument, NotFound, PermissionDenied, Problem
from pf_pipeline.artifacts.judging import Answer, Fence, Judging, Question

MOST = 500
"""Questions that are answered at once."""
OWN = (InvalidArgument, PermissionDenied, NotFound, FailedPrecondition)
"""Problems that are about one of the questions."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question, and who waits for its answer."""

    question: Question
    answer: asyncio.Future[Answer]


@dataclass(slots=True)
class Desk:
    """While some questions are being answered, those that come gather, and are the next."""

    judging: Judging
    fence: Fence
    _gathered: list[_Asked] = field(default_factory=list)
    _work: asyncio.Task[None] | None = None

    async def ask(self, question: Question) -> Answer:
        """The answer. Raises what `Judging.judge` does."""
        asked = _Asked(question, asyncio.get_running_loop().create_future())
        self._gathered.append(asked)
        if self._work is None:
            self._work = asyncio.create_task(self._answer_all())
        return await asked.answer

    async def _answer_all(self) -> None:
        try:
            # Others who ask because of the same event do so before the loop comes round.
            await asyncio.sleep(0)
            while self._gathered:
                batch, self._gathered = self._gathered[:MOST], self._gathered[MOST:]
                await self._answer(batch)
        finally:
            self._work = None
            # After a fault of ours nobody waits for ever.
            for asked in self._gathered:
                asked.answer.cancel()

    async def _answer(self, batch: Sequence[_Asked]) -> None:
        wanted = [asked for asked in batch if not asked.answer.done()]
        try:
            answers = await self.judging.judge([asked.question for asked in wanted], self.fence)
        except Problem as problem:
            if isinstance(problem, OWN) and len(wanted) > 1:
                # It is about one of them, or about each: nobody knows which.
                for asked in wanted:
                    await self._answer([asked])
            else:
                _refuse(wanted, problem)
            return
        for asked, answer in zip(wanted, answers, strict=True):
            if not asked.answer.done():
                asked.answer.set_result(answer)


def _refuse(wanted: Sequence[_Asked], problem: Problem) -> None:
    for asked in wanted:
        if not asked.answer.done():
            asked.answer.set_exception(problem)
