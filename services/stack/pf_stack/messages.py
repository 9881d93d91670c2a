"""What a starting stack tells whoever waits for it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Starting:
    """A process is being started."""

    name: str


@dataclass(frozen=True, slots=True)
class Ready:
    """A process serves."""

    name: str
    seconds: float
    """How long it took."""


@dataclass(frozen=True, slots=True)
class Up:
    """All is ready."""

    seconds: float
    """How long it took."""
    password: str | None
    """The first password of root, told once."""
    hint: str
    """How to reach this stack with the client."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The stack cannot be started."""

    what: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Busy:
    """Somebody else works on this data folder."""


Message: TypeAlias = Starting | Ready | Up | Failed | Busy
Report: TypeAlias = Callable[[Message], None]

_KINDS: dict[str, type[Message]] = {kind.__name__: kind for kind in (Starting, Ready, Up, Failed, Busy)}


def encode(message: Message) -> bytes:
    """The message as a line of text."""
    return json.dumps({"kind": type(message).__name__, **asdict(message)}).encode() + b"\n"


def decode(line: bytes) -> Message:
    content = json.loads(line)
    return _KINDS[content.pop("kind")](**content)
