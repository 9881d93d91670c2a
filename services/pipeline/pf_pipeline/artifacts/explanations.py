"""Why a step was not the same as another one, thing by thing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from pf_pipeline.artifacts.domain import CachedResult
from pf_pipeline.artifacts.keys import Contents, Json, StepParts, canonical, counted

LONGEST = 1000
"""Characters of one thing that are kept. The rest is told by its digest."""
LONGEST_NAME = 100
MOST = 200
"""Things that are kept one by one. All others are told by one digest."""
REST = "more"
"""Under which that stands."""
ABSENT = "(nothing)"
"""Where there is no such thing."""
_ORDER = (
    "version",
    "image",
    "command",
    "parameters",
    "loop_argument",
    "inputs",
    "fs_scope",
    "mode",
    "env",
    "outputs",
    "results",
    "mounts",
    "job",
    REST,
)
"""What is told first."""
_PLAIN = ("image", "command", "version")
"""Texts that need no quotes."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing in which a step differs from another one."""

    what: str
    """As in ``command``, ``parameters.epoch``, ``inputs.train_data`` and ``fs_scope.ppl:src``."""
    before: str
    now: str


def explanation(parts: StepParts, contents: Contents) -> str:
    """What the keys of a step were made of, as JSON of texts by name: at most 250,000 characters."""
    things = sorted(_things(parts, contents), key=_rank)
    kept = {_short(what, LONGEST_NAME): _short(text, LONGEST) for what, text in things[:MOST]}
    if rest := things[MOST:]:
        kept[REST] = f"{len(rest)} more, sha256:{_digest(canonical(dict(rest)))}"
    return json.dumps(kept, ensure_ascii=False)


def differences(before: str, now: str) -> Sequence[Difference]:
    """In what one explanation differs from an earlier one, what people look for first in front."""
    old, new = _read(before), _read(now)
    names = sorted({*old, *new}, key=lambda what: _rank((what, "")))
    return [
        Difference(what, old.get(what, ABSENT), new.get(what, ABSENT))
        for what in names
        if old.get(what) != new.get(what)
    ]


def nearest(now: str, candidates: Iterable[CachedResult]) -> tuple[CachedResult, Sequence[Difference]] | None:
    """The result that differs in the fewest things, and in which; of several the one that comes first."""
    told = [(result, differences(result.explanation, now)) for result in candidates]
    return min(told, key=lambda each: len(each[1]), default=None)


def _things(parts: StepParts, contents: Contents) -> Iterator[tuple[str, str]]:
    for what, value in counted(parts).items():
        if what != "inputs":
            yield from _told(what, value)
    for name in parts.inputs:
        yield f"inputs.{name}", " ".join(contents.inputs.get(name, ()))
    for place, digest in contents.scope.items():
        yield f"fs_scope.{place}", digest
    if contents.inputs or contents.scope:
        yield "mode", contents.mode


def _told(what: str, value: Json) -> Iterator[tuple[str, str]]:
    """A thing, or what it consists of."""
    match value:
        case None | "":
            return
        case str() if what in _PLAIN:
            yield what, value
        case Mapping():
            for name, each in value.items():
                yield f"{what}.{name}", _text(each)
        case []:
            return
        case _:
            yield what, _text(value)


def _text(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _short(text: str, longest: int) -> str:
    """Nothing else has the same short text."""
    if len(text) <= longest:
        return text
    return f"{text[:longest]}… ({len(text)} characters, sha256:{_digest(text)})"


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _rank(thing: tuple[str, str]) -> tuple[int, str]:
    what = thing[0]
    group = what.partition(".")[0]
    return (_ORDER.index(group) if group in _ORDER else len(_ORDER), what)


def _read(text: str) -> Mapping[str, str]:
    found = json.loads(text)
    return {str(what): str(each) for what, each in found.items()} if isinstance(found, dict) else {}
