"""The log of a mount: lines for people, with what a line is about behind its words."""

from __future__ import annotations

import logging

_USUAL = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime"}
"""What each record has."""


class Lines(logging.Formatter):
    """Shows what is told beside the words, as ``name=value``."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802, as the library calls it
        about = [f"{name}={value!r}" for name, value in record.__dict__.items() if name not in _USUAL]
        return " ".join([super().formatMessage(record), *about])


def begin() -> None:
    """Everything from now on goes to the standard error."""
    handler = logging.StreamHandler()
    handler.setFormatter(Lines())
    logging.basicConfig(handlers=[handler], level=logging.INFO)
