"""The types a setting can have: what they look like in words, and how they are read and shown."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Union, get_args, get_origin

_TRUE = frozenset({"true", "yes", "on", "1"})
_FALSE = frozenset({"false", "no", "off", "0"})


class Secret:
    """A text that is never shown. It is read from the file that ``<variable>_FILE`` names, or from the variable."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        return self._value

    def __repr__(self) -> str:
        return "Secret(***)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other.reveal() == self._value

    def __hash__(self) -> int:
        return hash(self._value)


@dataclass(frozen=True, slots=True)
class Between:
    """The numbers a setting may have, both ends included."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Kind:
    """The type of a setting, taken apart."""

    plain: Any
    """The type without what follows."""
    optional: bool
    """True if it may be None."""
    between: Between | None

    @classmethod
    def of(cls, hint: object) -> Kind:
        if get_origin(hint) is Annotated:
            inner = cls.of(get_args(hint)[0])
            bounds = [each for each in get_args(hint) if isinstance(each, Between)]
            return replace(inner, between=bounds[0])
        if get_origin(hint) in (Union, types.UnionType):
            (inner,) = (cls.of(each) for each in get_args(hint) if each is not types.NoneType)
            return replace(inner, optional=True)
        return cls(hint, optional=False, between=None)

    @property
    def secret(self) -> bool:
        return self.plain is Secret

    @property
    def expected(self) -> str:
        """What a value looks like, to stand after "is not"."""
        words = _words(self.plain)
        if self.between is not None:
            words += f" from {show(self.between.low)} to {show(self.between.high)}"
        return f"{words}, or empty" if self.optional else words

    def parse(self, text: str) -> object:
        """The value that the text stands for; ValueError if it stands for none."""
        if self.optional and not text:
            return None
        value = _read(self.plain, text)
        if self.between is not None and not self.between.low <= value <= self.between.high:
            raise ValueError(text)
        return value


def show(value: object) -> str:
    """The text that stands for the value."""
    match value:
        case None:
            return ""
        case Secret():
            return "***"
        case bool():
            return str(value).lower()
        case Enum():
            return str(value.value)
        case tuple():
            return ",".join(value)
        case _:
            return str(value)


def _words(plain: object) -> str:
    if isinstance(plain, type) and issubclass(plain, Enum):
        return "one of " + ", ".join(str(each.value) for each in plain)
    return next(words for kind, words in _WORDS.items() if kind in (plain, get_origin(plain)))


def _read(plain: Any, text: str) -> Any:  # noqa: ANN401  # a type, and a value of it
    if plain is bool:
        return _bool(text)
    if get_origin(plain) is tuple:
        return tuple(word.strip() for word in text.split(",") if word.strip())
    return plain(text)


def _bool(text: str) -> bool:
    word = text.lower()
    if word not in _TRUE | _FALSE:
        raise ValueError(text)
    return word in _TRUE


_WORDS: Mapping[type, str] = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    Path: "a path",
    Secret: "a secret text",
    tuple: "words separated by commas",
}
