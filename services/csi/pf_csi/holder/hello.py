"""Which node and which holder understand each other: each says so with all that it says.

Each is updated by itself. Whoever is of another version is understood as long as both know a version of what is said.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from importlib.metadata import version
from typing import Any

from pf_csi.refusals import Refusal, Why


@dataclass(frozen=True, slots=True)
class Hello:
    """What one end can say. Who says nothing of it is of before anybody did."""

    speaks: int = 1
    """The newest version of what is said that it knows."""
    oldest: int = 1
    """The oldest one."""
    program: str = "of an earlier version"


OWN = Hello(speaks=2, oldest=1, program=version("paddleflow-server"))


def told(own: Hello = OWN) -> Mapping[str, Any]:
    return asdict(own)


def hello_of(message: Mapping[str, Any]) -> Hello:
    """ValueError if it is none; what a newer one says beside is let pass."""
    said = message.get("hello", {})
    known = {field.name: said[field.name] for field in fields(Hello) if field.name in said}
    try:
        return Hello(int(known.pop("speaks", 1)), int(known.pop("oldest", 1)), **known)
    except TypeError:
        raise ValueError("a hello has numbers") from None


def check_understood(other: Hello, who: str, own: Hello = OWN) -> None:
    """Refusal if there is no version that both know. What is mounted stays, so the kubelet is to ask again."""
    if other.oldest <= own.speaks and own.oldest <= other.speaks:
        return
    older = f"{who} {other.program}" if other.speaks < own.speaks else f"whoever asks it, which is {own.program},"
    raise Refusal(
        Why.PENDING,
        f"{who} {other.program} speaks versions {other.oldest} to {other.speaks} of what node and holder say to each "
        f"other, and {own.program} speaks {own.oldest} to {own.speaks}: update {older} then try again",
    )
