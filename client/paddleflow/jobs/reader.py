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
