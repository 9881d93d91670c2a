"""How a watch goes on after it broke: decided here, done by the SDK."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from paddleflow.problems import (
    DeadlineExceeded,
    Problem,
    ResourceExhausted,
    ResumeTokenExpired,
    TokenExpired,
    TokenInvalid,
    TokenRevoked,
    Unavailable,
)

FIRST_DELAY = 0.1
LONGEST_DELAY = 5.0


class Step(StrEnum):
    """What to do about a broken watch."""

    RESUME = "resume"
    LOG_IN = "log-in"
    START_OVER = "start-over"
    GIVE_UP = "give-up"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a watch has come."""

    resume_token: str
    """Where to resume; empty: from the beginning."""
    settled: bool
    """True once the token stands for all that exists: before that, resuming from it could miss things."""
    told: bool = False
    """True once the watcher has seen something since the beginning."""
    reached: bool = False
    """True once the server has said anything."""
    failing_since: float | None = None
    """When the present failures began, in `time.monotonic` seconds; None while all is well."""
    failures: int = 0

    @classmethod
    def begin(cls, resume_token: str) -> Progress:
        return cls(resume_token, settled=bool(resume_token))

    def advanced(self, resume_token: str, *, caught_up: bool) -> Progress:
        """After a message of the server."""
        return Progress(resume_token, settled=self.settled or caught_up, told=True, reached=True)

    def failed(self, now: float) -> Progress:
        """After the stream broke."""
        since = now if self.failing_since is None else self.failing_since
        return replace(self, failing_since=since, failures=self.failures + 1)

    def restarted(self) -> Progress:
        """Back at the beginning, with nothing seen."""
        return replace(self, resume_token="", settled=False, told=False)

    def gives_up(self, step: Step, now: float, patience: float) -> bool:
        """True if there is no use in trying on.

        A server that went away may come back, for as long as `patience` seconds. One that never said anything has
        been tried long enough by the call itself.
        """
        if step is Step.GIVE_UP or (step is Step.RESUME and not self.reached):
            return True
        return self.failing_since is not None and now - self.failing_since > patience

    def delay(self, chance: float) -> float:
        """Seconds to wait before the next try; `chance` in 0..1 spreads those who broke together."""
        return float(min(FIRST_DELAY * 2 ** min(self.failures - 1, 16), LONGEST_DELAY) * (0.5 + chance / 2))


def next_step(problem: Problem, *, can_log_in: bool) -> Step:
    """What a watch does after it broke for this reason."""
    match problem:
        case ResumeTokenExpired():
            return Step.START_OVER
        case TokenExpired() | TokenInvalid() | TokenRevoked():
            return Step.LOG_IN if can_log_in else Step.GIVE_UP
        case Unavailable() | ResourceExhausted() | DeadlineExceeded():
            return Step.RESUME
        case _:
            return Step.GIVE_UP
