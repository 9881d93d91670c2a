"""What a condition says."""

from __future__ import annotations

from dataclasses import dataclass

Value = float | str | bool | tuple["Value", ...] | None
"""What a part of a condition can be. None: nothing, as ``false ? 1`` is."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A value that is written down."""

    value: Value


@dataclass(frozen=True, slots=True)
class Field:
    """The field of something, or what it gives when called. Conditions know of no such things."""

    name: str


@dataclass(frozen=True, slots=True)
class Signed:
    """A value with a sign before it."""

    sign: str
    operand: Node


@dataclass(frozen=True, slots=True)
class Chain:
    """Operators that bind equally tightly, to be applied from left to right."""

    first: Node
    rest: tuple[tuple[str, Node], ...]


Node = Literal | Field | Signed | Chain


@dataclass(frozen=True, slots=True)
class Expression:
    """A condition."""

    root: Node
