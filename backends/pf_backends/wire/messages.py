"""What goes over a connection of HTTP/1.1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pf_backends.errors import Unreachable

_NO_BODY = (204, 304)


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


@dataclass(frozen=True, slots=True)
class Request:
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


@dataclass(frozen=True, slots=True)
class Head:
    """How an answer begins."""

    status: int
    headers: Mapping[str, str]
    """By their names in small letters."""
    closes: bool
    """Nothing can be asked over the connection any more."""

    def length(self) -> int | None:
        """Bytes of the body; None if it tells itself where it ends."""
        if self.chunked:
            return None
        text = self.headers.get("content-length")
        if text is None:
            return 0 if self.status in _NO_BODY else None
        if not (text.isascii() and text.isdigit()):
            raise Broken(f"the answer is {text[:40]!r} bytes long", answered=True)
        return int(text)

    @property
    def chunked(self) -> bool:
        return self.headers.get("transfer-encoding", "").lower() == "chunked"

    @property
    def delimited(self) -> bool:
        """It tells where its body ends."""
        return self.chunked or self.length() is not None

    @property
    def successful(self) -> bool:
        return 200 <= self.status < 300


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back."""

    head: Head
    count: int = 0
    """Bytes that went into the memory of the request."""
    body: bytes = field(default=b"", repr=False)

    @property
    def status(self) -> int:
        return self.head.status

    @property
    def headers(self) -> Mapping[str, str]:
        return self.head.headers


def parse_head(raw: bytes) -> Head:
    """Reads the first lines of an answer. Raises Broken."""
    first, *lines = raw.decode("latin-1").split("\r\n")
    version, _, rest = first.partition(" ")
    if not version.startswith("HTTP/1.") or not rest[:3].isdigit():
        raise Broken(f"the answer begins with {first[:40]!r}", answered=True)
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if colon:
            headers[name.lower()] = value.strip()
    connection = headers.get("connection", "").lower()
    closes = connection == "close" or (version == "HTTP/1.0" and connection != "keep-alive")
    return Head(int(rest[:3]), headers, closes)
