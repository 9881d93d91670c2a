"""A document of YAML, or of JSON, which is a part of it, as a tree whose nodes know where they stand.

Words mean what they mean in YAML 1.2: `yes` and `on` are texts. Whatever a document holds, it takes little time and
memory: its size, its depth, and what its aliases make of it are limited, before they are looked at.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

from paddleflow.problems import InvalidArgument, Violation

LARGEST = 2 * 2**20
"""Bytes of a document."""
MOST_NODES = 100_000
HEAVIEST = 8 * 2**20
"""Characters that all aliases stand for together."""
DEEPEST = 24
"""Nested lists and mappings: as many as fit into a message, where each takes three levels of a hundred."""
FILE = "file"
"""What problems of the whole document are told of."""

_OVERHEAD = 16
"""Characters that a node counts for beside its text."""
_MERGE = "<<"
_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,399})", re.ASCII)
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]+)?", re.ASCII)
_PAIR = re.compile(r"(?<!\\)((?:\\\\)*)\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")
_NULLS = ("", "~", "null", "Null", "NULL")
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}


@dataclass(frozen=True, slots=True, order=True)
class Spot:
    """Where something stands in a text, counted from 1."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}"


@dataclass(frozen=True, slots=True)
class Scalar:
    """A single value."""

    text: str
    plain: bool
    """True if it is written without quotes, so that it may stand for something else than a text."""
    spot: Spot
    depth: int = 0

    @property
    def weight(self) -> int:
        return len(self.text) + _OVERHEAD

    @property
    def value(self) -> str | int | float | bool | None:
        """What it stands for."""
        return meaning(self.text) if self.plain else self.text


@dataclass(frozen=True, slots=True)
class Listing:
    """Values in order."""

    items: tuple[Node, ...]
    spot: Spot
    depth: int
    weight: int


@dataclass(frozen=True, slots=True)
class Fields:
    """Values by name."""

    items: dict[str, Node]
    spots: dict[str, Spot]
    """Where the names stand."""
    spot: Spot
    depth: int
    weight: int


Node = Scalar | Listing | Fields


def parse(text: bytes | str) -> Node:
    """The tree; raises InvalidArgument with the place of what is no YAML."""
    import yaml  # noqa: PLC0415 -- few commands need it

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    told = _prepared(text)
    events = yaml.parse(told, Loader=loader)
    try:
        return _Builder(events).document()
    except yaml.MarkedYAMLError as error:
        if error.problem_mark is not None and told[error.problem_mark.index : error.problem_mark.index + 1] == "\t":
            raise _refused("has a tab where YAML takes spaces only", _spot(error.problem_mark)) from error
        raise _refused(f"is neither YAML nor JSON: {error.problem}", _spot(error.problem_mark)) from error
    except yaml.YAMLError as error:
        raise _refused(f"is neither YAML nor JSON: {str(error).splitlines()[0]}", None) from error


def meaning(text: str) -> str | int | float | bool | None:
    """What a word without quotes stands for."""
    if text in _NULLS:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text


def _prepared(text: bytes | str) -> str:
    if len(text) > LARGEST:
        raise _refused(f"has more than {LARGEST // 2**20} MiB", None)
    try:
        told = (text if isinstance(text, bytes) else text.encode()).decode("utf-8-sig")
    except UnicodeError as error:
        raise _refused(f"is not written in UTF-8: {error}", None) from error
    if not _is_json(told):
        return told
    # What JSON has and YAML takes no notice of: tabs between things, and one character written as two.
    return _PAIR.sub(lambda pair: pair[1] + _joined(pair[2], pair[3]), told.replace("\t", " "))


def _joined(high: str, low: str) -> str:
    return chr(0x10000 + ((int(high, 16) - 0xD800) << 10) + int(low, 16) - 0xDC00)


def _is_json(text: str) -> bool:
    """True of JSON, where a tab can only be a blank; YAML takes none as such."""
    if not text.lstrip().startswith("{"):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


@dataclass(slots=True)
class _Builder:
    events: Iterator[Any]
    anchors: dict[str, Node | None] = field(default_factory=dict)
    """None: of a node that is not complete yet."""
    nodes: int = 0
    repeated: int = 0
    """Characters that aliases stand for."""

    def document(self) -> Node:
        next(self.events)
        node: Node = Scalar("", plain=True, spot=Spot(1, 1))
        if _kind(next(self.events)) != "StreamEnd":
            node = self.node(next(self.events), 1)
            next(self.events)
            if _kind(event := next(self.events)) != "StreamEnd":
                raise _refused("has more than one document", _spot(event.start_mark))
        return node

    def node(self, event: Any, level: int) -> Node:  # noqa: ANN401 -- what the parser yields has no types
        spot = _spot(event.start_mark)
        self.nodes += 1
        if self.nodes > MOST_NODES:
            raise _refused(f"has more than {MOST_NODES} values", spot)
        if _kind(event) == "Alias":
            return self._aliased(event.anchor, spot)
        if event.tag not in (None, "!"):
            raise _refused(f"has a tag, {event.tag[:80]}, and documents have none", spot)
        if event.anchor:
            self.anchors[event.anchor] = None
        node = self._content(event, spot, level)
        if node.depth + level > DEEPEST + 1:
            raise _refused(f"is nested deeper than {DEEPEST}", spot)
        if event.anchor:
            self.anchors[event.anchor] = node
        return node

    def _content(self, event: Any, spot: Spot, level: int) -> Node:  # noqa: ANN401 -- as above
        if _kind(event) == "Scalar":
            return Scalar(_whole(event.value, spot), plain=not event.style, spot=spot)
        if level > DEEPEST:
            raise _refused(f"is nested deeper than {DEEPEST}", spot)
        return self._listing(spot, level) if _kind(event) == "SequenceStart" else self._fields(spot, level)

    def _listing(self, spot: Spot, level: int) -> Listing:
        items: list[Node] = []
        while _kind(event := next(self.events)) != "SequenceEnd":
            items.append(self.node(event, level + 1))
        return Listing(tuple(items), spot, *_measures(items))

    def _fields(self, spot: Spot, level: int) -> Fields:
        items: dict[str, Node] = {}
        spots: dict[str, Spot] = {}
        merged: Node = Listing((), spot, 0, 0)
        while _kind(event := next(self.events)) != "MappingEnd":
            key, node = self.node(event, level + 1), self.node(next(self.events), level + 1)
            if not isinstance(key, Scalar):
                raise _refused("a name must be a text", key.spot)
            if key.text in spots:
                raise _refused(f"{key.text[:80]!r} is there twice, first in {spots[key.text]}", key.spot)
            spots[key.text] = key.spot
            if key.plain and key.text == _MERGE:
                merged = node
            else:
                items[key.text] = node
        _merge(merged, items, spots)
        depth, weight = _measures(items.values())
        return Fields(items, spots, spot, depth, weight + sum(map(len, items)))

    def _aliased(self, anchor: str, spot: Spot) -> Node:
        if anchor not in self.anchors:
            raise _refused(f"*{anchor[:80]} refers to nothing", spot)
        if (node := self.anchors[anchor]) is None:
            raise _refused(f"*{anchor[:80]} refers to what it is in", spot)
        self.repeated += node.weight
        if self.repeated > HEAVIEST:
            raise _refused("becomes too large by its aliases", spot)
        return node


def _whole(text: str, spot: Spot) -> str:
    """The text, with characters as one that JSON writes as two; half of one alone is none."""
    try:
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError as error:
        raise _refused("holds half of a character", spot) from error


def _merge(node: Node, items: dict[str, Node], spots: dict[str, Spot]) -> None:
    """What a mapping takes over from others, where it says nothing itself; the first of several wins."""
    for source in node.items if isinstance(node, Listing) else (node,):
        if not isinstance(source, Fields):
            raise _refused("only mappings can be merged", source.spot)
        for name, value in source.items.items():
            if name not in items:
                items[name], spots[name] = value, source.spots[name]


def _measures(nodes: Collection[Node]) -> tuple[int, int]:
    return 1 + max((node.depth for node in nodes), default=0), _OVERHEAD + sum(node.weight for node in nodes)


def _kind(event: object) -> str:
    return type(event).__name__.removesuffix("Event")


def _spot(mark: Any) -> Spot:  # noqa: ANN401 -- as above
    return Spot(mark.line + 1, mark.column + 1) if mark else Spot(1, 1)


def _refused(description: str, spot: Spot | None) -> InvalidArgument:
    return InvalidArgument.of(Violation(FILE, f"{description} ({spot})" if spot else description))
