"""What becomes of others when a step fails."""

from __future__ import annotations

from paddleflow.pipeline.dsl.names import refused

FAIL_FAST = "fail_fast"
"""Whatever runs is stopped, and nothing else begins."""
FAIL_CONTINUE = "continue"
"""Only what comes after the step that failed is left out."""


class FailureOptions:
    """What becomes of others when a step fails: `FAIL_FAST` or `FAIL_CONTINUE`."""

    def __init__(self, strategy: str = FAIL_FAST) -> None:
        if strategy not in (FAIL_FAST, FAIL_CONTINUE):
            raise refused(
                f"the strategy of FailureOptions is {strategy!r}: it has to be {FAIL_FAST} or {FAIL_CONTINUE}"
            )
        self.strategy = strategy

    def compile(self) -> dict[str, object]:
        """What the language says of it."""
        return {"strategy": self.strategy}
