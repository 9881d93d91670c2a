"""A document of YAML, or of JSON, which is a part of it, as a tree whose nodes know where they stand.

Words mean what they mean in YAML 1.2: `yes` and `on` are texts. Whatever a document holds, it takes little time and
memory: its size, its depth, and what its aliases make of it are limited, before they are looked at.

Documents of pipelines have hundreds of thousands of values. That is why nodes are tuples, and keep the parser's marks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from paddleflow.problems import InvalidArgument, Violation

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


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a document may hold."""

    bytes: int = 2 * 2**20
    values: int = 100_000
    repeated: int = 8 * 2**20
    """Characters that all aliases stand for together."""
    depth: int = 24
    """Nested lists and mappings. 24 fit into a message, where each takes three levels of a hundred."""


class Spot(NamedTuple):
    """Where something stands in a text, counted from 1."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}"


class Scalar(NamedTuple):
    """A single value."""

    text: str
    plain: bool
    """True if it is written without quotes, so that it may stand for something else than a text."""
    mark: Any

    @property
    def spot(self) -> Spot:
        return spot(self.mark)

    @property
    def depth(self) -> int:
        return 0

    @property
    def weight(self) -> int:
        return len(self.text) + _OVERHEAD

    @property
    def is_null(self) -> bool:
        return self.plain and self.text in _NULLS

    @property
    def value(self) -> str | int | float | bool | None:
        """What it stands for."""
        return meaning(self.text) if self.plain else self.text


class Listing(NamedTuple):
    """Values in order."""

    items: tuple[Node, ...]
    mark: Any
    depth: int
    weight: int

    @property
    def spot(self) -> Spot:
        return spot(self.mark)


class Fields(NamedTuple):
    """Values by name."""

    items: dict[str, Node]
    marks: dict[str, Any]
    """Where the names stand."""
    mark: Any
    depth: int
    weight: int

    @property
    def spot(self) -> Spot:
        return spot(self.mark)


Node = Scalar | Listing | Fields


class NotADocument(InvalidArgument):
    """A text is neither YAML nor JSON, or holds more than a document may."""

    def __init__(self, description: str, place: Spot | None) -> None:
        told = f"{description} ({place})" if place else description
        super().__init__(f"{FILE}: {told}", violations=(Violation(FILE, told),))
        self.description = description
        self.place = place
        """None: it is not in one place."""


def spot(mark: Any) -> Spot:  # noqa: ANN401 -- what the parser yields has no types
    return Spot(mark.line + 1, mark.column + 1) if mark else Spot(1, 1)


def parse(text: bytes | str, limits: Limits = Limits()) -> Node:
    """The tree; raises NotADocument with the place of what is no YAML."""
    import yaml  # noqa: PLC0415 -- few commands need it

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    told = _prepared(text, limits)
    try:
        return _Builder(iter(loader(told).get_event, None), limits).document()
    except yaml.MarkedYAMLError as error:
        if error.problem_mark is not None and told[error.problem_mark.index : error.problem_mark.index + 1] == "\t":
            raise _refused("has a tab where YAML takes spaces only", error.problem_mark) from error
        raise _refused(f"is neither YAML nor JSON: {error.problem}", error.problem_mark) from error
    except yaml.YAMLError as error:
        raise _refused(f"is neither YAML nor JSON: {str(error).splitlines()[0]}") from error


def meaning(text: str) -> str | int | float | bool | None:
    """What a word without quotes stands for."""
    if text in _NULLS:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text


def _prepared(text: bytes | str, limits: Limits) -> str:
    if len(text) > limits.bytes:
        raise _refused(f"has more than {limits.bytes // 2**20} MiB")
    try:
        told = (text if isinstance(text, bytes) else text.encode()).decode("utf-8-sig")
    except UnicodeError as error:
        raise _refused(f"is not written in UTF-8: {error}") from error
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
    limits: Limits
    anchors: dict[str, Node | None] = field(default_factory=dict)
    """None: of a node that is not complete yet."""
    nodes: int = 0
    repeated: int = 0
    """Characters that aliases stand for."""

    def document(self) -> Node:
        next(self.events)
        node: Node = Scalar("", plain=True, mark=None)
        if _kind(next(self.events)) != "StreamEndEvent":
            node = self.node(next(self.events), 1)
            next(self.events)
            if _kind(event := next(self.events)) != "StreamEndEvent":
                raise _refused("has more than one document", event.start_mark)
        return node

    def node(self, event: Any, level: int) -> Node:  # noqa: ANN401 -- as above
        self.nodes += 1
        if self.nodes > self.limits.values:
            raise _refused(f"has more than {self.limits.values} values", event.start_mark)
        kind = _kind(event)
        if kind == "AliasEvent":
            return self._aliased(event, level)
        if event.tag not in (None, "!"):
            raise _refused(f"has a tag, {event.tag[:80]}, and documents have none", event.start_mark)
        anchor = event.anchor
        if anchor:
            self.anchors[anchor] = None
        node = self._scalar(event) if kind == "ScalarEvent" else self._nested(event, kind, level)
        if anchor:
            self.anchors[anchor] = node
        return node

    def _scalar(self, event: Any) -> Scalar:  # noqa: ANN401 -- as above
        text: str = event.value
        mark = event.start_mark
        return Scalar(text if text.isascii() and "\0" not in text else _whole(text, mark), not event.style, mark)

    def _nested(self, event: Any, kind: str, level: int) -> Node:  # noqa: ANN401 -- as above
        if level > self.limits.depth:
            raise self._too_deep(event.start_mark)
        make = self._listing if kind == "SequenceStartEvent" else self._fields
        return make(event.start_mark, level)

    def _listing(self, mark: Any, level: int) -> Listing:  # noqa: ANN401 -- as above
        items: list[Node] = []
        depth, weight = 0, _OVERHEAD
        while _kind(event := next(self.events)) != "SequenceEndEvent":
            item = self.node(event, level + 1)
            depth, weight = max(depth, item.depth), weight + item.weight
            items.append(item)
        return Listing(tuple(items), mark, depth + 1, weight)

    def _fields(self, mark: Any, level: int) -> Fields:  # noqa: ANN401 -- as above
        items: dict[str, Node] = {}
        marks: dict[str, Any] = {}
        merged: Node | None = None
        while _kind(event := next(self.events)) != "MappingEndEvent":
            key, node = self.node(event, level + 1), self.node(next(self.events), level + 1)
            if not isinstance(key, Scalar):
                raise _refused("a name must be a text", key.mark)
            name = key.text
            if name in marks:
                raise _refused(f"{name[:80]!r} is there twice, first in {spot(marks[name])}", key.mark)
            marks[name] = key.mark
            if name == _MERGE and key.plain:
                merged = node
            else:
                items[name] = node
        if merged is not None:
            _merge(merged, items, marks)
        depth, weight = 0, _OVERHEAD
        for name, node in items.items():
            depth, weight = max(depth, node.depth), weight + node.weight + len(name)
        return Fields(items, marks, mark, depth + 1, weight)

    def _aliased(self, event: Any, level: int) -> Node:  # noqa: ANN401 -- as above
        anchor, mark = event.anchor, event.start_mark
        if anchor not in self.anchors:
            raise _refused(f"*{anchor[:80]} refers to nothing", mark)
        if (node := self.anchors[anchor]) is None:
            raise _refused(f"*{anchor[:80]} refers to what it is in", mark)
        if node.depth + level > self.limits.depth + 1:
            raise self._too_deep(mark)
        self.repeated += node.weight
        if self.repeated > self.limits.repeated:
            raise _refused("becomes too large by its aliases", mark)
        return node

    def _too_deep(self, mark: Any) -> NotADocument:  # noqa: ANN401 -- as above
        return _refused(f"is nested deeper than {self.limits.depth}", mark)


def _whole(text: str, mark: Any) -> str:  # noqa: ANN401 -- as above
    """The text, with characters as one that JSON writes as two; half of one alone is none, and NUL ends all texts."""
    if "\0" in text:
        raise _refused("holds a NUL, which no command, variable or path can have", mark)
    try:
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError as error:
        raise _refused("holds half of a character", mark) from error


def _merge(node: Node, items: dict[str, Node], marks: dict[str, Any]) -> None:
    """What a mapping takes over from others, where it says nothing itself; the first of several wins."""
    for source in node.items if isinstance(node, Listing) else (node,):
        if not isinstance(source, Fields):
            raise _refused("only mappings can be merged", source.mark)
        for name, value in source.items.items():
            if name not in items:
                items[name], marks[name] = value, source.marks[name]


def _kind(event: object) -> str:
    return type(event).__name__


def _refused(description: str, mark: Any = None) -> NotADocument:  # noqa: ANN401 -- as above
    return NotADocument(description, spot(mark) if mark else None)
