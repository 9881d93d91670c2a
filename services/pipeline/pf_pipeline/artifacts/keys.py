"""Whether two steps do the same: what decides it, in two levels, and what it is told by.

The first level is known as soon as the parameters of a step are: its own words. The second is the content of the files
that it reads, which costs time to find out, so it is asked for only if the step is cached at all. Where files lie is
part of neither: paths of artifacts hold the id of their run, and would make each run different.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from pf_pipeline.documents.model import CacheMode, Mount, Result, Value

SCHEMA = 1
"""Of the keys. A new one makes all results count no more; it is due whenever the same key would mean something else."""
SYSTEM = "PF_"
"""Variables that begin so are given to steps by the system. They differ from run to run."""
UNCOUNTED = frozenset({"annotations", "labels", "name", "priority", "queue", "schedulingPolicy"})
"""Fields of a job that say where and when it runs, not what it does."""
Json = str | int | float | bool | None | Sequence["Json"] | Mapping[str, "Json"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepParts:
    """All that decides whether a step is the same, but for files."""

    command: str
    """Templates of parameters and of the system are replaced. Those of input artifacts, of output artifacts and of
    names in `ignore` are left as they are written."""
    image: str = ""
    parameters: Mapping[str, Value] = field(default_factory=dict)
    """Their values."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Their values."""
    loop_argument: Value | None = None
    """The item of the loop, which a step may read without naming it."""
    inputs: tuple[str, ...] = ()
    """Names of artifacts, in any order."""
    outputs: tuple[str, ...] = ()
    results: Mapping[str, Result] = field(default_factory=dict)
    mounts: tuple[Mount, ...] = ()
    """The main filesystem, then the further ones; by id, so that another one of the same name is another one."""
    job: Mapping[str, Json] = field(default_factory=dict)
    """Fields of its job."""
    version: str = ""
    ignore: tuple[str, ...] = ()
    """Names of parameters and variables that decide nothing."""


@dataclass(frozen=True, slots=True)
class Contents:
    """What files are told by, that decide whether a step is the same."""

    mode: CacheMode = CacheMode.CONTENT
    inputs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Digests of input artifacts by name; several if an artifact was put together from the iterations of a loop."""
    scope: Mapping[str, str] = field(default_factory=dict)
    """Digests of the paths in `fs_scope`, by ``<filesystem>:<path>``; empty where there is nothing."""


def step_key(parts: StepParts) -> str:
    """The first level, in hexadecimal digits."""
    return _hashed({"schema": SCHEMA, **counted(parts)})


def files_key(contents: Contents) -> str:
    """The second level, in hexadecimal digits."""
    inputs: Json = {name: list(digests) for name, digests in contents.inputs.items()}
    return _hashed({"schema": SCHEMA, "mode": contents.mode, "inputs": inputs, "scope": dict(contents.scope)})


def counted(parts: StepParts) -> Mapping[str, Json]:
    """What counts of a step, as it is hashed."""
    return {
        "image": parts.image,
        "command": parts.command,
        "parameters": {name: value for name, value in parts.parameters.items() if name not in parts.ignore},
        "env": {name: value for name, value in parts.env.items() if _counts(name, parts)},
        "loop_argument": parts.loop_argument,
        "inputs": sorted(parts.inputs),
        "outputs": sorted(parts.outputs),
        "results": {name: [result.kind, result.default] for name, result in parts.results.items()},
        "mounts": [[mount.name, mount.mount_path, mount.sub_path, mount.read_only] for mount in parts.mounts],
        "job": _job(parts.job),
        "version": parts.version,
    }


def canonical(value: Json) -> str:
    """The one text that all writings of a value have in common.

    Keys are sorted, characters composed (NFC). A whole number is never the same as one with a point, nor as a text.
    """
    return json.dumps(_composed(value), sort_keys=True, separators=(",", ":"))


def _hashed(value: Json) -> str:
    return sha256(canonical(value).encode()).hexdigest()


def _counts(name: str, parts: StepParts) -> bool:
    return not name.startswith(SYSTEM) and name not in parts.ignore


def _job(job: Mapping[str, Json]) -> Mapping[str, Json]:
    """Without what does not count, also in its members."""
    return {name: _members(value) if name == "members" else value for name, value in _without(job).items()}


def _members(members: Json) -> Json:
    if not isinstance(members, (list, tuple)):
        return members
    return [_without(member) if isinstance(member, Mapping) else member for member in members]


def _without(fields: Mapping[str, Json]) -> Mapping[str, Json]:
    return {name: value for name, value in fields.items() if name not in UNCOUNTED}


def _composed(value: Json) -> Json:
    match value:
        case str():
            return unicodedata.normalize("NFC", value)
        case Mapping():
            return {unicodedata.normalize("NFC", name): _composed(each) for name, each in value.items()}
        case list() | tuple():
            return [_composed(each) for each in value]
        case _:
            return value
