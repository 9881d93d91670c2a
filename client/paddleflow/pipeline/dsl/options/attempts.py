"""How often a step is tried, and who has to agree first."""

from __future__ import annotations

from collections.abc import Sequence

from paddleflow.pipeline.dsl.names import refused
from paddleflow.pipeline.dsl.options.durations import Duration, duration


class Retry:
    """A step that fails is tried again, at most `limit` times, each time as a new job.

    `backoff` is the wait before the first retry, twice as long before each later one, and never longer than
    `max_backoff`. Up to the part `jitter` (0 to 1) of a wait is left out by chance. After an exit status in `not_on` it
    is not tried again.
    """

    def __init__(
        self,
        limit: int,
        *,
        backoff: Duration | None = None,
        max_backoff: Duration | None = None,
        jitter: float | None = None,
        not_on: Sequence[int] = (),
    ) -> None:
        if isinstance(limit, bool) or limit < 0:
            raise refused(f"the limit of Retry is {limit!r}: it has to be a number of retries")
        if jitter is not None and not 0 <= jitter <= 1:
            raise refused(f"jitter of Retry is {jitter!r}: it has to be between 0 and 1")
        self.limit = limit
        self.backoff = None if backoff is None else duration("backoff of Retry", backoff)
        self.max_backoff = None if max_backoff is None else duration("max_backoff of Retry", max_backoff)
        self.jitter = jitter
        self.not_on = tuple(not_on)

    def compile(self) -> dict[str, object]:
        """What the language says of it."""
        said: dict[str, object] = {
            "limit": self.limit,
            "backoff": self.backoff,
            "max_backoff": self.max_backoff,
            "jitter": self.jitter,
            "not_on": list(self.not_on) or None,
        }
        return {key: value for key, value in said.items() if value is not None}


class Approval:
    """Somebody has to agree before the step goes on: one of `users`, or without them the owner of the run.

    `message` is shown to them. Without a decision within `timeout` the step fails.
    """

    def __init__(self, users: Sequence[str] | str = (), *, message: str = "", timeout: Duration | None = None) -> None:
        self.users = (users,) if isinstance(users, str) else tuple(users)
        self.message = message
        self.timeout = None if timeout is None else duration("timeout of Approval", timeout)

    def compile(self) -> dict[str, object]:
        """What the language says of it."""
        said: dict[str, object] = {"users": list(self.users), "message": self.message, "timeout": self.timeout}
        return {key: value for key, value in said.items() if value not in ([], "", None)}
