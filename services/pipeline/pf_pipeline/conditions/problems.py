"""What can be wrong with a condition."""

from __future__ import annotations


class ConditionSyntaxError(ValueError):
    """A text is no condition."""

    def __init__(self, position: int, message: str) -> None:
        super().__init__(f"at character {position + 1}: {message}")
        self.position = position
        """Where in the text, from 0 on."""


class ConditionError(ValueError):
    """A condition is neither true nor false."""
