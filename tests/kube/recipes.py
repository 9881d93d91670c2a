"""Reads Dockerfiles: as much of their language as those of this project use."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from string import Template

_LIST = re.compile(r"\s*\[")


class NotUnderstood(Exception):
    """A Dockerfile says what is not known here."""


@dataclass(frozen=True, slots=True)
class Step:
    """Changes files: runs something, or copies."""

    kind: str
    """RUN or COPY."""
    words: tuple[str, ...]
    """The command for a shell, or sources and the target."""
    source: str = ""
    """The stage that is copied from; empty: the project."""
    folder: str = "/"
    """Where it happens."""
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stage:
    """From one FROM to the next."""

    base: str
    name: str
    steps: tuple[Step, ...] = ()
    folder: str = "/"
    variables: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, object] = field(default_factory=dict)
    """Of containers, as in the configuration of images."""


def read(text: str) -> list[Stage]:
    """The stages of a Dockerfile; the last one is the image."""
    stages: list[Stage] = []
    for keyword, rest in instructions(text):
        if keyword == "FROM":
            base, _, name = rest.partition(" AS ")
            stages.append(Stage(base, name or str(len(stages))))
        else:
            stages[-1] = told(stages[-1], keyword, rest)
    return [finished(stage) for stage in stages]


def instructions(text: str) -> Iterator[tuple[str, str]]:
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    for line in re.sub(r"\\\n", " ", "\n".join(lines)).splitlines():
        keyword, _, rest = line.strip().partition(" ")
        if keyword:
            yield keyword.upper(), rest.strip()


def told(stage: Stage, keyword: str, rest: str) -> Stage:
    """The stage after one instruction."""
    match keyword:
        case "RUN":
            step = Step("RUN", (rest,), folder=stage.folder, variables=stage.variables)
            return replace(stage, steps=(*stage.steps, step))
        case "COPY":
            return replace(stage, steps=(*stage.steps, copying(stage, rest)))
        case "ENV":
            return replace(stage, variables={**stage.variables, **pairs(rest, stage.variables)})
        case "LABEL":
            return with_setting(stage, "Labels", pairs(rest, {}))
        case "WORKDIR":
            return replace(with_setting(stage, "WorkingDir", rest), folder=rest)
        case "USER":
            return with_setting(stage, "User", rest)
        case "CMD" | "ENTRYPOINT":
            if not _LIST.match(rest):
                raise NotUnderstood(f"{keyword} {rest}: must be a list")
            return with_setting(stage, keyword.title() if keyword == "CMD" else "Entrypoint", json.loads(rest))
    raise NotUnderstood(f"{keyword} {rest}")


def copying(stage: Stage, rest: str) -> Step:
    words = shlex.split(rest)
    options = [word for word in words if word.startswith("--")]
    known = [word.removeprefix("--from=") for word in options if word.startswith("--from=")]
    if len(known) != len(options):
        raise NotUnderstood(f"COPY {rest}")
    plain = tuple(word for word in words if not word.startswith("--"))
    return Step("COPY", plain, source=known[0] if known else "", folder=stage.folder)


def pairs(rest: str, known: Mapping[str, str]) -> dict[str, str]:
    split = (word.partition("=") for word in shlex.split(rest))
    return {name: Template(value).safe_substitute(known) for name, _, value in split}


def with_setting(stage: Stage, name: str, value: object) -> Stage:
    return replace(stage, settings={**stage.settings, name: value})


def finished(stage: Stage) -> Stage:
    return with_setting(stage, "Env", [f"{name}={value}" for name, value in stage.variables.items()])
