"""Reads the values that only documents of jobs have: quantities, and times as messages have them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from google.protobuf.duration_pb2 import Duration

from paddleflow.documents import reader
from paddleflow.documents.nodes import Node, Spot
from paddleflow.problems import InvalidArgument
from paddleflow.quantity import parse_amount, resource_name

T = TypeVar("T")

_SHORTEST_PART = 10**9
"""Nanoseconds of a second."""


@dataclass(slots=True)
class Reader(reader.Reader):
    """Every method yields what a node says, or nothing where it cannot be: then it is noted."""

<<<<<<< HEAD
=======
    found: list[tuple[Spot, Violation]] = field(default_factory=list)

    def refuse(self, path: str, spot: Spot, description: str) -> None:
        self.found.append((spot, Violation(path, f"{description} ({spot})")))

    @property
    def wrong(self) -> list[Violation]:
        """All that was noted, in the order of the document."""
        return [violation for _, violation in sorted(self.found, key=lambda noted: noted[0])]

    def fields(
        self, node: Node | None, path: str, known: Collection[str], meant: Mapping[str, str] | None = None
    ) -> Mapping[str, Node]:
        """The fields of an object that are not empty; unknown ones are refused, some with what must have been meant."""
        told = {name: value for name, value in self.mapping(node, path).items() if not _is_empty(value)}
        if not isinstance(node, Fields):
            return {}
        for name in [name for name in told if name not in known]:
            better = (meant or {}).get(name.lower()) or _nearest(name, known)
            self.refuse(_below(path, name), node.spots[name], f"is unknown; {better}")
        return {name: value for name, value in told.items() if name in known}

    def mapping(self, node: Node | None, path: str) -> Mapping[str, Node]:
        """The entries of an object; an empty list is one that has none."""
        if isinstance(node, Fields):
            return node.items
        if node is not None and not _is_empty(node):
            self.refuse(path or "file", node.spot, "must be an object, with names and values")
        return {}

    def items(self, node: Node | None, path: str) -> Iterator[tuple[str, Node]]:
        """The entries of a list, each with its path."""
        if isinstance(node, Listing):
            yield from ((f"{path}[{at}]", item) for at, item in enumerate(node.items))
        elif node is not None and not _is_empty(node):
            self.refuse(path, node.spot, "must be a list")

    def text(self, node: Node | None, path: str) -> str:
        """A text; a number or a word such as `true` is what is written there."""
        if node is None:
            return ""
        if not isinstance(node, Scalar):
            self.refuse(path, node.spot, "must be a text")
            return ""
        return "" if node.value is None else node.text

    def texts(self, node: Node | None, path: str) -> dict[str, str]:
        """Texts by name."""
        return {name: self.text(value, _below(path, name)) for name, value in self.mapping(node, path).items()}

    def integer(self, node: Node | None, path: str) -> int:
        text = self.text(node, path)
        if not node or not text:
            return 0
        if not _INTEGER.fullmatch(text) or not _LEAST <= int(text) <= _MOST:
            self.refuse(path, node.spot, f"must be a whole number, and is {_shown(text)}")
            return 0
        return int(text)

    def boolean(self, node: Node | None, path: str) -> bool:
        text = self.text(node, path)
        if node and text.lower() not in ("", "true", "false"):
            self.refuse(path, node.spot, f"must be true or false, and is {_shown(text)}")
        return text.lower() == "true"

    def word(self, node: Node | None, path: str, words: Mapping[str, T], none: T) -> T:
        """One of some words, in capitals or not."""
        text = self.text(node, path)
        if not node or not text:
            return none
        by_folded = {word.lower(): meaning for word, meaning in words.items()}
        if text.lower() not in by_folded:
            self.refuse(path, node.spot, f"must be one of {', '.join(words)}, and is {_shown(text)}")
        return by_folded.get(text.lower(), none)

>>>>>>> main
    def amount(self, node: Node, path: str, resource: str) -> int | None:
        """A quantity of a resource; none if it is empty."""
        if not (text := self.text(node, path)):
            return None
        return self._quantity(lambda: parse_amount(resource, text), path, node.spot)

    def resource(self, name: str, path: str, spot: Spot) -> str | None:
        return self._quantity(lambda: resource_name(name), path, spot)

    def time(self, node: Node | None, path: str) -> Duration | None:
        """A time such as `90s`, `1h30m` or, in seconds, `90`; none if it is empty."""
        seconds = self.seconds(node, path)
        if seconds is None:
            return None
        whole, part = divmod(seconds, 1)
        return Duration(seconds=int(whole), nanos=int(part * _SHORTEST_PART))

    def _quantity(self, parse: Callable[[], T], path: str, spot: Spot) -> T | None:
        try:
            return parse()
        except InvalidArgument as problem:
            for violation in problem.violations:
                self.refuse(path, spot, violation.description)
            return None
