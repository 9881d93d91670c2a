"""The log of accesses of a mount: its lines, and who asks what how often."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

_LINE = re.compile(
    r"(?P<time>\S+) user=\d+ group=\d+ process=(?P<process>\d+) (?P<request>\w+) node=(?P<node>\d+)(?P<rest>.*): "
    r"(?P<end>\S+) (?P<took>[\d.]+) ms"
)
_SIZE = re.compile(r" size=(\d+)")
_NAME = re.compile(r""" ("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')""")
_SIZED = frozenset(("read", "write"))
MOST_PLACES = 20_000
"""That are told apart; what comes later is counted together."""


@dataclass(frozen=True, slots=True)
class Place:
    """What is asked about: a node, or a name in the folder that is one."""

    node: int
    name: str = ""


OTHERS = Place(0)


@dataclass(frozen=True, slots=True)
class Access:
    """One request of the kernel, and its answer."""

    request: str
    thread: int
    """Of the program that asks; 0 is the kernel itself."""
    place: Place
    seconds: float
    ok: bool
    bytes: int = 0


@dataclass(slots=True)
class Sum:
    """Of requests of one kind."""

    count: int = 0
    failed: int = 0
    seconds: float = 0.0
    longest: float = 0.0
    bytes: int = 0

    def add(self, access: Access) -> None:
        self.count += 1
        self.failed += not access.ok
        self.seconds += access.seconds
        self.longest = max(self.longest, access.seconds)
        self.bytes += access.bytes


@dataclass(slots=True)
class Profile:
    """Requests by what was asked, by who asked, and by what was asked about."""

    requests: dict[str, Sum] = field(default_factory=dict)
    programs: dict[str, Sum] = field(default_factory=dict)
    places: dict[Place, Sum] = field(default_factory=dict)

    def add(self, access: Access, program: str) -> None:
        place = access.place if access.place in self.places or len(self.places) < MOST_PLACES else OTHERS
        self.requests.setdefault(access.request, Sum()).add(access)
        self.programs.setdefault(program, Sum()).add(access)
        self.places.setdefault(place, Sum()).add(access)


def accesses(lines: Iterable[str]) -> Iterator[Access]:
    """Those that the lines tell of; others are left out."""
    for line in lines:
        if match := _LINE.match(line):
            yield _access(match)


def path_of(place: Place, paths: Mapping[int, str]) -> str:
    """What people call it."""
    if place == OTHERS:
        return "others"
    folder = paths.get(place.node)
    if folder is None:
        return f"node {place.node} {place.name}".rstrip()
    return "/".join(part for part in (folder, place.name) if part) or "."


def _access(match: re.Match[str]) -> Access:
    size = _SIZE.search(match["rest"]) if match["request"] in _SIZED else None
    return Access(
        match["request"],
        int(match["process"]),
        Place(int(match["node"]), _name(match["rest"])),
        float(match["took"]) / 1e3,
        match["end"] == "ok",
        int(size[1]) if size and match["end"] == "ok" else 0,
    )


def _name(rest: str) -> str:
    found = _NAME.search(rest)
    return str(ast.literal_eval(found[1])) if found else ""
