"""What a node and its holder say to each other: a line of JSON each way."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from pf_csi.held import Held, State
from pf_csi.refusals import Refusal, Why

LONGEST = 1 << 20
"""Bytes of a line."""


def encode(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message).encode() + b"\n"


def decode(line: bytes) -> dict[str, Any]:
    """ValueError or TypeError if it is none. What it says is not repeated, since it may have secrets."""
    try:
        message = json.loads(line)
    except ValueError:
        raise ValueError("this is no line of JSON") from None
    return dict(message)


def shown(held: Held | None) -> Mapping[str, Any] | None:
    return None if held is None else asdict(held)


def read(told: Mapping[str, Any] | None) -> Held | None:
    if told is None:
        return None
    return Held(**{**told, "state": State(told["state"]), "why": Why(told["why"])})


def refused(refusal: Refusal) -> Mapping[str, Any]:
    return {"refused": refusal.why.value, "text": refusal.text}
