"""One call from its beginning to its end: auth → limits → span → log → errors."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn, TypeAlias, TypeVar

from grpc import aio
from opentelemetry.trace import Span

from paddleflow.problems import Code, DeadlineExceeded, Internal, Problem
from paddleflow.status import DETAILS_KEY, encode, status_code, status_message
from pf_kit import tracing
from pf_kit.access import Rule, authorise
from pf_kit.auth import Metadata
from pf_kit.call import CURRENT, Call
from pf_kit.ids import new_id
from pf_kit.limits import Limit
from pf_kit.log import Ration
from pf_kit.principal import ANONYMOUS, Principal, PrincipalKind
from pf_kit.telemetry import MethodMetrics

logger = logging.getLogger("pf_kit.calls")

Context: TypeAlias = "aio.ServicerContext[Any, Any]"
R = TypeVar("R")


class Known(NamedTuple):
    """A caller who was known when the handler of its call was found, before the request came."""

    metadata: Metadata
    principal: Principal
    since: float
    """In `time.monotonic` seconds."""


KNOWN: ContextVar[Known] = ContextVar("paddleflow-known")
"""The known caller whose call the running task serves."""


@dataclass(frozen=True, slots=True)
class Method:
    """A method and all that stands around it."""

    path: str
    rule: Rule
    domain: str
    """Whose reasons its errors have, for example ``paddleflow.queue``."""
    who: Callable[[Metadata], Awaitable[Principal]]
    """Knows the caller."""
    origin: Callable[[Metadata], str]
    """From where another instance had the call; empty if it came from the caller itself."""
    limit: Limit
    metrics: MethodMetrics
    tracing: tracing.Tracing
    longest: float
    """Seconds that a call may last; infinite for streams."""
    slow: float
    """Seconds from which on a call is worth a line in the log; infinite for streams."""
    strangers: Ration
    """Of lines about calls of callers who were not let in, or whom nobody knows: they must not fill the disk."""


class Served:
    """A call under way. Whoever makes one calls `end` at last."""

    _principal = ANONYMOUS
    _entered = False
    """True while the call counts against the limit of all."""
    _known = False
    """True while it counts against its caller's."""
    _span: Span | None = None
    _trace = ""
    _peer = ""
    _code = "OK"
    _reason = ""
    hurried = True
    """True if the call must be ended here; an earlier deadline of the caller is kept by gRPC itself."""

    def __init__(self, method: Method, context: Context) -> None:
        self._method = method
        self._context = context
        self.started = time.monotonic()

    def enter(self) -> None:
        """Counts the call, whoever makes it."""
        self._method.limit.enter()
        self._entered = True

    def begin(self, metadata: Metadata, principal: Principal) -> None:
        """Lets the caller in, and makes the call known to all that is done for it."""
        method, context = self._method, self._context
        self._principal = principal
        authorise(method.rule, principal)
        method.limit.know(principal)
        self._known = True
        if method.tracing.enabled or tracing.TRACEPARENT in metadata:
            self._begin_span(str(metadata.get(tracing.TRACEPARENT, "")))
        remaining: float | None = context.time_remaining()
        self.hurried = remaining is None or remaining > method.longest
        ends = self.started + (method.longest if self.hurried or remaining is None else remaining)
        self._peer = method.origin(metadata) or context.peer()
        CURRENT.set(Call(method.path, principal, self._peer, self._trace, ends))

    async def in_time(self, work: Awaitable[R]) -> R:
        """The result of the work, unless it lasts longer than any call may."""
        timeout = asyncio.timeout(self._method.longest)
        try:
            async with timeout:
                return await work
        except TimeoutError:
            if timeout.expired():
                raise DeadlineExceeded(f"The call took longer than {self._method.longest:g} s.") from None
            raise

    async def fail(self, error: BaseException) -> NoReturn:
        """Ends the call with the status that the error stands for."""
        match error:
            case Problem():
                await self._abort(error)
            case aio.AbortError():
                self._code = getattr(self._context.code(), "name", Code.INTERNAL.value)
            case asyncio.CancelledError():
                self._code = "DEADLINE_EXCEEDED" if self._context.time_remaining() == 0 else "CANCELLED"
            case Exception():
                await self._abort(_unknown(error))
        raise error

    def end(self) -> None:
        """Gives back what the call held, and tells of it."""
        seconds, method = time.monotonic() - self.started, self._method
        if self._known:
            method.limit.forget(self._principal)
        if self._entered:
            method.limit.leave()
        method.metrics.record(self._code, seconds)
        if self._span is not None:
            tracing.end(self._span, self._code, self._principal.label)
        # What jobs do themselves they do many times a second; that is counted, and not told.
        told = method.rule.mutation and self._principal.kind is not PrincipalKind.JOB
        usual = self._code == "OK" and seconds < method.slow and not told
        level = logging.DEBUG if usual else logging.INFO
        if logger.isEnabledFor(level):
            self._tell(level, seconds)

    def _begin_span(self, traceparent: str) -> None:
        self._span = self._method.tracing.begin(self._method.path, traceparent)
        if self._span is not None:
            self._trace = tracing.traceparent_of(self._span)
        elif tracing.parse_traceparent(traceparent):
            self._trace = traceparent

    async def _abort(self, problem: Problem) -> NoReturn:
        self._code, self._reason = problem.code.value, problem.reason
        details = ((DETAILS_KEY, encode(problem, self._method.domain)),)
        await self._context.abort(status_code(problem), status_message(problem), details)

    def _tell(self, level: int, seconds: float) -> None:
        told = self._told(seconds)
        if not self._known or self._principal.kind is PrincipalKind.ANONYMOUS:
            left_out = self._method.strangers.take()
            if left_out is None:
                return
            if left_out:
                told["left_out"] = left_out
        logger.log(level, "call", extra=told)

    def _told(self, seconds: float) -> dict[str, object]:
        told = {
            "code": self._code,
            "reason": self._reason,
            "method": self._method.path,
            "principal": self._principal.label,
            "acting_service": self._principal.acting_service,
            "peer": self._peer or self._context.peer(),
            "milliseconds": round(seconds * 1000, 2),
            "trace": self._trace,
        }
        return {name: value for name, value in told.items() if value != ""}


def _unknown(error: Exception) -> Internal:
    """What the caller is told of a fault: only where the log has it."""
    fault = new_id()
    logger.error("unexpected error in a call", exc_info=error, extra={"fault": fault})
    return Internal(f"The server has a fault; its log tells more under {fault}.", metadata={"fault": fault})
