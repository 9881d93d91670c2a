"""Which tokens are still good: the answers of whoever knows, kept for a few seconds."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC

from grpc import aio

from paddleflow.auth.v1 import auth_pb2, auth_pb2_grpc
from paddleflow.problems import Unavailable
from paddleflow.status import problem_of
from pf_kit.auth import TokenState, TokenStatus
from pf_kit.clock import Clock

FRESH = 2.0
"""Seconds for which an answer is used without asking again."""
LONGEST = 5.0
"""Seconds for which an answer is used while nobody can be asked. Revocation promises 5 s, so it is never longer: an
outage of up to `LONGEST` - `FRESH` is not noticed, a longer one makes calls fail with UNAVAILABLE."""
CACHE_SIZE = 10_000
"""Tokens whose state is kept; those used longest ago go first."""
ASK_TIMEOUT = 1.0
"""Seconds to wait for an answer of the service that keeps the tokens."""


@dataclass(frozen=True, slots=True)
class _Answer:
    state: TokenState | None
    asked: float
    """When the question was put, in the clock's monotonic seconds."""


class CachedTokenStatus:
    """Keeps another status's answers. Of many calls with one token only one asks."""

    def __init__(self, source: TokenStatus, clock: Clock) -> None:
        self._source = source
        self._clock = clock
        self._answers: OrderedDict[str, _Answer] = OrderedDict()
        self._asking: dict[str, asyncio.Task[TokenState | None]] = {}
        self._under_way: set[asyncio.Task[TokenState | None]] = set()

    def recent(self, token_id: str) -> TokenState | None:
        answer = self._answers.get(token_id)
        return answer.state if answer is not None and self._age(answer) < FRESH else None

    async def check(self, token_id: str) -> TokenState | None:
        answer = self._answers.get(token_id)
        if answer is not None and self._age(answer) < FRESH:
            return answer.state
        try:
            return await asyncio.shield(self._asked(token_id))
        except Unavailable:
            if answer is not None and self._answers.get(token_id) is answer and self._age(answer) < LONGEST:
                return answer.state
            raise

    def forget(self, token_id: str) -> None:
        """Asks again at the next call: the token was revoked here."""
        self._answers.pop(token_id, None)
        self._asking.pop(token_id, None)

    def clear(self) -> None:
        """Asks again for every token: a user was deleted or has a new password."""
        self._answers.clear()
        self._asking.clear()

    def _age(self, answer: _Answer) -> float:
        return self._clock.monotonic() - answer.asked

    def _asked(self, token_id: str) -> asyncio.Task[TokenState | None]:
        task = self._asking.get(token_id)
        if task is None:
            task = self._asking[token_id] = asyncio.create_task(self._ask(token_id))
            # The event loop keeps no task alive by itself, and `forget` lets go of those under way.
            self._under_way.add(task)
            task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[TokenState | None]) -> None:
        self._under_way.discard(task)
        # Looked at, since all who waited may have left: asyncio logs failures that nobody has seen as faults.
        if not task.cancelled():
            task.exception()

    async def _ask(self, token_id: str) -> TokenState | None:
        task, asked = asyncio.current_task(), self._clock.monotonic()
        try:
            state = await self._source.check(token_id)
            # After `forget` another question is under way, or none: this answer may be older than the revocation.
            if self._asking.get(token_id) is task:
                self._keep(token_id, _Answer(state, asked))
            return state
        finally:
            if self._asking.get(token_id) is task:
                del self._asking[token_id]

    def _keep(self, token_id: str, answer: _Answer) -> None:
        self._answers[token_id] = answer
        self._answers.move_to_end(token_id)
        if len(self._answers) > CACHE_SIZE:
            self._answers.popitem(last=False)


class RemoteTokenStatus:
    """Asks AuthService, for services other than the one that keeps the tokens."""

    def __init__(
        self, auth: auth_pb2_grpc.AuthServiceAsyncStub, metadata: Callable[[], Sequence[tuple[str, str]]]
    ) -> None:
        """The metadata hold the token of this service."""
        self._auth = auth
        self._metadata = metadata

    async def check(self, token_id: str) -> TokenState | None:
        try:
            reply = await self._auth.CheckToken(
                auth_pb2.CheckTokenRequest(id=token_id), metadata=self._metadata(), timeout=ASK_TIMEOUT
            )
        except aio.AioRpcError as error:
            raise problem_of(error) from None
        since = reply.user_since.ToDatetime(UTC) if reply.HasField("user_since") else None
        return TokenState(reply.good, reply.user, reply.root, since)
