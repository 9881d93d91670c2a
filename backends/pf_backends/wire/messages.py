"""What goes over a connection of HTTP/1.1."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from pf_backends.errors import Unreachable

_NO_BODY = (204, 304)
_LINE = re.compile(r"([^:\r\n]+):[ \t]*([^\r\n]*)")


class Broken(Unreachable):
    """The connection failed, or what came over it was no answer."""

    def __init__(self, why: str, *, answered: bool = False, count: int = 0, head: Head | None = None) -> None:
        super().__init__(why)
        self.why = why
        self.answered = answered
        """Something came back."""
        self.count = count
        """Bytes of the body that came before."""
        self.head = head


class TooLong(Broken):
    """More came than there is room for."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Whom to connect to."""

    host: str
    port: int
    tls: bool

    @property
    def authority(self) -> str:
        """The host and, unless it is the usual one, the port."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.tls else 80) else f"{host}:{self.port}"


class Request(NamedTuple):
    """What is asked."""

    head: bytes
    """All before the body, with the empty line at its end."""
    body: memoryview | bytes = b""
    into: memoryview | None = None
    """Where the body of a successful answer goes."""
    most: int = 1 << 24
    """Bytes of the body of a successful answer that goes nowhere else."""
    bodiless: bool = False
    """The answer tells how long its body would be, and has none."""


class Head(NamedTuple):
    """How an answer begins."""

    status: int
    headers: Mapping[str, str]
    """By their names in small letters."""
    length: int | None
    """Bytes of the body; None if it tells itself where it ends."""
    chunked: bool
    """It comes in pieces, each with its length."""
    closes: bool
    """Nothing can be asked over the connection any more."""

    @property
    def successful(self) -> bool:
        return 200 <= self.status < 300


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: Mapping[str, str]
    filled: int = 0
    """Bytes that went into the memory of the request."""
    body: bytes = b""

    @property
    def successful(self) -> bool:
        return 200 <= self.status < 300


def parse_head(raw: bytes) -> Head:
    """Reads the first lines of an answer. Raises Broken."""
    first, _, lines = raw.decode("latin-1").partition("\r\n")
    version, _, rest = first.partition(" ")
    if not version.startswith("HTTP/1.") or not rest[:3].isdigit():
        raise Broken(f"the answer begins with {first[:40]!r}", answered=True)
    headers = {name.lower(): value.rstrip() for name, value in _LINE.findall(lines)}
    status, chunked = int(rest[:3]), headers.get("transfer-encoding", "").lower() == "chunked"
    connection = headers.get("connection", "").lower()
    closes = connection == "close" or (version == "HTTP/1.0" and connection != "keep-alive")
    return Head(status, headers, None if chunked else _length(status, headers), chunked, closes)


def _length(status: int, headers: Mapping[str, str]) -> int | None:
    text = headers.get("content-length")
    if text is None:
        return 0 if status in _NO_BODY else None
    if not (text.isascii() and text.isdigit()):
        raise Broken(f"the answer is {text[:40]!r} bytes long", answered=True)
    return int(text)
