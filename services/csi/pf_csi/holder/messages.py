"""What a node and its holder say to each other: a line of JSON each way."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from enum import StrEnum
from typing import Any, TypeVar

from pf_csi.held import Held, State
from pf_csi.holder.hello import told
from pf_csi.refusals import Refusal, Why

E = TypeVar("E", bound=StrEnum)

LONGEST = 1 << 20
"""Bytes of a line."""
_HELD = frozenset(field.name for field in fields(Held))


def encode(message: Mapping[str, Any]) -> bytes:
    """With who says it."""
    return json.dumps({"hello": told(), **message}).encode() + b"\n"


def decode(line: bytes) -> dict[str, Any]:
    """ValueError or TypeError if it is none. What it says is not repeated, since it may have secrets."""
    try:
        message = json.loads(line)
    except ValueError:
        raise ValueError("this is no line of JSON") from None
    return dict(message)


def shown(held: Held | None) -> Mapping[str, Any] | None:
    return None if held is None else asdict(held)


def read(said: Mapping[str, Any] | None) -> Held | None:
    """A newer holder may say more than is known here. TypeError, ValueError or KeyError if it is none."""
    if said is None:
        return None
    known = {name: value for name, value in said.items() if name in _HELD}
    state, why = one_of(State, said["state"], State.BEGINNING), one_of(Why, said.get("why"), Why.FAULT)
    return Held(**{**known, "state": state, "why": why})


def one_of(kind: type[E], text: object, otherwise: E) -> E:
    """What is meant; something else if that is of a version that is not known here."""
    return kind(str(text)) if text in list(kind) else otherwise


def refused(refusal: Refusal) -> Mapping[str, Any]:
    return {"refused": refusal.why.value, "text": refusal.text}
