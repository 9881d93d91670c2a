"""Messages between a runner and its clients: JSON, each behind its length in four bytes."""

from __future__ import annotations

import json
from typing import Any

LENGTH = 4
LIMIT = 64 * 2**20
"""Bytes in one message at most."""

Message = dict[str, Any]


class FrameTooLong(ValueError):
    """Somebody announced a message longer than any can be."""


def encode(message: Message) -> bytes:
    body = json.dumps(message, separators=(",", ":")).encode()
    if len(body) > LIMIT:
        raise FrameTooLong(f"a message of {len(body)} bytes, at most {LIMIT}")
    return len(body).to_bytes(LENGTH, "big") + body


class Inbox:
    """Puts messages together from the pieces in which they arrive."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[Message]:
        """The messages that are complete with this piece. Raises FrameTooLong, and ValueError for what is not JSON."""
        self._buffer += data
        messages = []
        while (body := self._next()) is not None:
            messages.append(json.loads(body))
        return messages

    def _next(self) -> bytes | None:
        if len(self._buffer) < LENGTH:
            return None
        length = int.from_bytes(self._buffer[:LENGTH], "big")
        if length > LIMIT:
            raise FrameTooLong(f"a message of {length} bytes, at most {LIMIT}")
        if len(self._buffer) < LENGTH + length:
            return None
        body = bytes(self._buffer[LENGTH : LENGTH + length])
        del self._buffer[: LENGTH + length]
        return body
