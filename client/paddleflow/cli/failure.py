"""What a command says and returns when it fails.

| exit status | meaning |
|---|---|
| 0 | done |
| 1 | refused: the server, or the client already, says why |
| 2 | the command line itself is wrong |
| 3 | the server does not answer; another try may succeed |
| 4 | not logged in, or the token is no longer good |
| 124 | the time that it was given is over |
| 130 | interrupted |
"""

from __future__ import annotations

from paddleflow.problems import (
    Aborted,
    ClusterNotEmpty,
    DeadlineExceeded,
    Problem,
    ResourceExhausted,
    RunInUse,
    TokenMissing,
    Unauthenticated,
    Unavailable,
    WrongPassword,
)

REFUSED = 1
NO_ANSWER = 3
NOT_LOGGED_IN = 4
TIMED_OUT = 124
"""As of the command `timeout`."""
INTERRUPTED = 130


def exit_status(problem: Problem) -> int:
    match problem:
        case Unavailable() | DeadlineExceeded():
            return NO_ANSWER
        case Unauthenticated():
            return NOT_LOGGED_IN
        case _:
            return REFUSED


def sentence(what: str, problem: Problem) -> str:
    """The line that says what failed, and why."""
    return f"{what} failed with message[{problem.message}]"


def advice(problem: Problem) -> str:
    """What to do next; empty if the message says all there is."""
    match problem:
        case WrongPassword():
            return "correct the name and the password in the configuration, or log in with `paddleflow login`"
        case Unauthenticated() if not isinstance(problem, TokenMissing):
            return "log in with `paddleflow login`"
        case Unavailable() | DeadlineExceeded():
            return "is the server running, and the address right? On one machine, `pf status` tells"
        case ResourceExhausted() if problem.retry_after:
            return f"try again in {problem.retry_after:g} s"
        case ClusterNotEmpty():
            return "delete them first, or delete all with `--cascade`"
        case RunInUse():
            return "or forget it all the same with `--notcheckcache`"
        case Aborted():
            return "look at it as it is now, then try again"
        case _:
            return ""
