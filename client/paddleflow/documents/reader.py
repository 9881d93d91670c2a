"""Reads the values of a document, and keeps all that is wrong with them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from fractions import Fraction
from math import isfinite
from typing import NamedTuple, TypeVar

from paddleflow.documents.nodes import Fields, Listing, Node, Scalar, Spot, spot
from paddleflow.problems import Violation

T = TypeVar("T")

_LEAST, _MOST = -(2**31), 2**31 - 1
_INTEGER = re.compile(r"[-+]?[0-9]{1,12}", re.ASCII)
_TIME = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,9})?)(ms|s|m|h|d)", re.ASCII)
_SECONDS = re.compile(r"[0-9]{1,12}(\.[0-9]{1,9})?", re.ASCII)
_UNITS = {"ms": Fraction(1, 1000), "s": Fraction(1), "m": Fraction(60), "h": Fraction(3600), "d": Fraction(86400)}
_LONGEST = 315_576_000_000
"""Seconds that a Duration of protobuf may hold."""
_SHOWN = 80


class Refusal(NamedTuple):
    """One thing that is wrong."""

    spot: Spot
    path: str
    description: str


@dataclass(slots=True)
class Reader:
    """Every method yields what a node says, or nothing where it cannot be: then it is noted."""

    found: list[Refusal] = field(default_factory=list)

    def refuse(self, path: str, spot: Spot, description: str) -> None:
        self.found.append(Refusal(spot, path, description))

    @property
    def wrong(self) -> list[Violation]:
        """All that was noted, in the order of the document."""
        noted = sorted(self.found, key=lambda refusal: refusal.spot)
        return [Violation(each.path, f"{each.description} ({each.spot})") for each in noted]

    def fields(
        self, node: Node | None, path: str, known: Collection[str], meant: Mapping[str, str] | None = None
    ) -> Mapping[str, Node]:
        """The fields of an object that are not empty; unknown ones are refused, some with what must have been meant."""
        told = {name: value for name, value in self.mapping(node, path).items() if not is_empty(value)}
        if not isinstance(node, Fields):
            return {}
        for name in [name for name in told if name not in known]:
            better = (meant or {}).get(name.lower()) or nearest(name, known)
            self.refuse(below(path, name), spot(node.marks[name]), f"is unknown; {better}")
        return {name: value for name, value in told.items() if name in known}

    def mapping(self, node: Node | None, path: str) -> Mapping[str, Node]:
        """The entries of an object; an empty list is one that has none."""
        if isinstance(node, Fields):
            return node.items
        if node is not None and not is_empty(node):
            self.refuse(path or "file", node.spot, "must be an object, with names and values")
        return {}

    def items(self, node: Node | None, path: str) -> Iterator[tuple[str, Node]]:
        """The entries of a list, each with its path."""
        if isinstance(node, Listing):
            yield from ((f"{path}[{at}]", item) for at, item in enumerate(node.items))
        elif node is not None and not is_empty(node):
            self.refuse(path, node.spot, "must be a list")

    def text(self, node: Node | None, path: str) -> str:
        """A text; a number or a word such as `true` is what is written there."""
        if node is None:
            return ""
        if not isinstance(node, Scalar):
            self.refuse(path, node.spot, "must be a text")
            return ""
        return "" if node.is_null else node.text

    def texts(self, node: Node | None, path: str) -> dict[str, str]:
        """Texts by name."""
        return {name: self.text(value, below(path, name)) for name, value in self.mapping(node, path).items()}

    def integer(self, node: Node | None, path: str) -> int:
        text = self.text(node, path)
        if not node or not text:
            return 0
        if not _INTEGER.fullmatch(text) or not _LEAST <= int(text) <= _MOST:
            self.refuse(path, node.spot, f"must be a whole number, and is {shown(text)}")
            return 0
        return int(text)

    def boolean(self, node: Node | None, path: str) -> bool:
        text = self.text(node, path)
        if node and text.lower() not in ("", "true", "false"):
            self.refuse(path, node.spot, f"must be true or false, and is {shown(text)}")
        return text.lower() == "true"

    def word(self, node: Node | None, path: str, words: Mapping[str, T], none: T) -> T:
        """One of some words, in capitals or not."""
        text = self.text(node, path)
        if not node or not text:
            return none
        by_folded = {word.lower(): meaning for word, meaning in words.items()}
        if text.lower() not in by_folded:
            self.refuse(path, node.spot, f"must be one of {', '.join(words)}, and is {shown(text)}")
        return by_folded.get(text.lower(), none)

    def seconds(self, node: Node | None, path: str) -> Fraction | None:
        """A time such as `90s`, `1h30m` or, in seconds, `90`; none if it is empty."""
        text = self.text(node, path)
        if not node or not text:
            return None
        seconds = _seconds(text)
        if seconds is None or seconds > _LONGEST:
            self.refuse(path, node.spot, f"must be a time such as 90s, 10m or 1h30m, and is {shown(text)}")
            return None
        return seconds

    def json(self, node: Node, path: str) -> object:
        """Whatever stands there, as JSON has it."""
        if isinstance(node, Fields):
            return {name: self.json(value, below(path, name)) for name, value in node.items.items()}
        if isinstance(node, Listing):
            return [self.json(item, f"{path}[{at}]") for at, item in enumerate(node.items)]
        value = node.value
        if isinstance(value, int | float) and not _fits(value):
            self.refuse(path, node.spot, "is a number larger than any of JSON")
            return None
        return value


def below(path: str, name: str) -> str:
    return f"{path}.{name[:_SHOWN]}" if path else name[:_SHOWN]


def is_empty(node: Node) -> bool:
    """True of what means the same as nothing: null, an empty text, list or object."""
    return not node.text or node.is_null if isinstance(node, Scalar) else not node.items


def nearest(name: str, known: Collection[str]) -> str:
    folded = {word.lower(): word for word in known}
    found = get_close_matches(name[:_SHOWN].lower(), folded, n=1, cutoff=0.6)
    return f"did you mean {folded[found[0]]}?" if found else f"there are {', '.join(sorted(known))}"


def shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}...")


def _seconds(text: str) -> Fraction | None:
    if _SECONDS.fullmatch(text):
        return Fraction(text)
    if not re.fullmatch(f"(?:{_TIME.pattern}){{1,5}}", text, re.ASCII):
        return None
    return sum((Fraction(number) * _UNITS[unit] for number, unit in _TIME.findall(text)), Fraction())


def _fits(number: float) -> bool:
    try:
        return isfinite(float(number))
    except OverflowError:
        return False
