"""Messages between a runner and its clients: JSON, each behind its length in four bytes."""

from __future__ import annotations

import json
from typing import Any

LENGTH = 4
LIMIT = 64 * 2**20
"""Bytes in one message at most."""

Message = dict[str, Any]


class Malformed(ValueError):
    """What was said is no message."""


class FrameTooLong(Malformed):
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
        """The messages that are complete with this piece. Raises ValueError for what is none."""
        self._buffer += data
        messages = []
        while (body := self._next()) is not None:
            match json.loads(body):
                case dict() as message:
                    messages.append(message)
                case other:
                    raise Malformed(f"a message is an object, not {other!r}")
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
