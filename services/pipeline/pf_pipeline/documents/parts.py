"""Reads the parts of a document that are values: parameters, settings, filesystems."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import TypeVar

from paddleflow.documents import reader
from paddleflow.documents.nodes import Fields, Listing, Node, Scalar, Spot, spot
from paddleflow.documents.reader import below, is_empty, nearest, shown
from pf_pipeline.documents import keys
from pf_pipeline.documents.findings import MOST_FOUND, MOST_TOLD
from pf_pipeline.documents.model import (
    Approval,
    Cache,
    CacheMode,
    CacheShare,
    Mount,
    Parameter,
    ParameterKind,
    Result,
    ResultKind,
    Retry,
    Scope,
    Value,
)

Word = TypeVar("Word", bound=StrEnum)

_LONGEST = 366 * 86_400
"""Seconds: nobody waits for longer than a year."""


@dataclass(slots=True)
class Reader(reader.Reader):
    """Every method yields what a node says, or nothing where it cannot be: then it is noted."""

    def refuse(self, path: str, spot: Spot, description: str) -> None:
        if len(self.found) < MOST_FOUND:
            reader.Reader.refuse(self, path, spot, description)

    def keys(self, node: Node | None, path: str, known: Mapping[str, str]) -> dict[str, Node]:
        """The values of an object by the usual names of their keys; unknown ones are refused."""
        told: dict[str, Node] = {}
        for name, value in self.mapping(node, path).items():
            key = known.get(name)
            if key is None:
                self._refuse_key(node, path, name, f"is unknown{self._hint(name, known)}")
            elif key in told:
                self._refuse_key(node, path, name, f"is the same as {key}, which is there too")
            else:
                told[key] = value
        return told

    def _hint(self, name: str, known: Mapping[str, str]) -> str:
        """Not for more than people read: it takes its time."""
        return f"; {nearest(name, _of_style(name, known))}" if len(self.found) < MOST_TOLD else ""

    def _refuse_key(self, node: Node | None, path: str, name: str, description: str) -> None:
        if isinstance(node, Fields):
            self.refuse(below(path, name), spot(node.marks[name]), description)

    def names(self, node: Node | None, path: str) -> tuple[str, ...]:
        """Names as a list, or as a text with commas; empty ones count for nothing."""
        if isinstance(node, Listing):
            return tuple(self.text(item, at).strip() for at, item in self.items(node, path))
        text = self.text(node, path)
        return tuple(name for part in text.split(",") if (name := part.strip())) if text else ()

    def choice(self, node: Node | None, path: str, words: type[Word]) -> Word | None:
        return self.word(node, path, {word.value: word for word in words}, None)

    def number(self, node: Node | None, path: str, none: int, least: int) -> int:
        """A whole number; `none` if it is empty."""
        if node is None or is_empty(node):
            return none
        before = len(self.found)
        number = self.integer(node, path)
        if len(self.found) == before and number < least:
            self.refuse(path, node.spot, f"must be at least {least}, and is {number}")
        return number

    def period(self, node: Node | None, path: str) -> timedelta | None:
        """A time that is longer than nothing."""
        seconds = self.seconds(node, path)
        if node is None or seconds is None:
            return None
        if not 0 < seconds <= _LONGEST:
            self.refuse(path, node.spot, "must be longer than nothing, and at most a year")
            return None
        return timedelta(microseconds=int(seconds * 1_000_000))

    def value(self, node: Node, path: str) -> Value | None:
        """A number, a text, true or false, or a list of such."""
        if isinstance(node, Scalar):
            value = node.value
            if isinstance(value, float) and value in (float("inf"), float("-inf")):
                self.refuse(path, node.spot, "is a number larger than any that can be computed with")
                return 0
            return value
        if isinstance(node, Fields):
            self.refuse(path, node.spot, "must be a number, a text or a list")
            return None
        return tuple(self._item(item, at) for at, item in self.items(node, path))

    def _item(self, node: Node, path: str) -> Value:
        value = self.value(node, path)
        if value is None and not isinstance(node, Fields):
            self.refuse(path, node.spot, "must not be empty")
        return "" if value is None else value

    def parameter(self, node: Node, path: str) -> Parameter:
        if not isinstance(node, Fields):
            return Parameter(self.value(node, path))
        told = self.keys(node, path, keys.PARAMETER)
        kind = self.choice(told.get("type"), f"{path}.type", ParameterKind)
        if "type" not in told:
            self.refuse(path, node.spot, f"must have a type: one of {', '.join(ParameterKind)}")
        default = told.get("default")
        if default is None or (is_empty(default) and not isinstance(default, Listing)):
            return Parameter(None, kind)
        return Parameter(self.value(default, f"{path}.default"), kind)

    def result(self, node: Node, path: str) -> Result:
        if not isinstance(node, Fields):
            return Result(self.choice(node, path, ResultKind) or ResultKind.STRING)
        told = self.keys(node, path, keys.PARAMETER)
        kind = self.choice(told.get("type"), f"{path}.type", ResultKind) or ResultKind.STRING
        return Result(kind, self.value(told["default"], f"{path}.default") if "default" in told else None)

    def mount(self, node: Node | None, path: str) -> Mount | None:
        told = self.keys(node, path, keys.MOUNT)
        if node is None or is_empty(node):
            return None
        return Mount(
            name=self.text(told.get("name"), f"{path}.name"),
            mount_path=self.text(told.get("mount_path"), f"{path}.mount_path"),
            sub_path=self.text(told.get("sub_path"), f"{path}.sub_path"),
            read_only=self.boolean(told.get("read_only"), f"{path}.read_only"),
        )

    def mounts(self, node: Node | None, path: str) -> tuple[Mount, ...]:
        found = [self.mount(item, at) for at, item in self.items(node, path)]
        return tuple(mount for mount in found if mount)

    def cache(self, node: Node | None, path: str) -> Cache:
        if node is None:
            return _NO_CACHE
        told = self.keys(node, path, keys.CACHE)
        expired, version, enable = (told.get(key) for key in ("max_expired_time", "version", "enable"))
        return Cache(
            enable=None if enable is None or is_empty(enable) else self.boolean(enable, f"{path}.enable"),
            max_expired_time=(
                None
                if expired is None or is_empty(expired)
                else self.number(expired, f"{path}.max_expired_time", none=-1, least=-1)
            ),
            fs_scope=tuple(self._scope(item, at) for at, item in self.items(told.get("fs_scope"), f"{path}.fs_scope")),
            version=self.text(version, f"{path}.version") or None,
            ignore=self.names(told.get("ignore"), f"{path}.ignore"),
            mode=self.choice(told.get("mode"), f"{path}.mode", CacheMode),
            share=self.choice(told.get("share"), f"{path}.share", CacheShare),
        )

    def _scope(self, node: Node, path: str) -> Scope:
        told = self.keys(node, path, keys.SCOPE)
        return Scope(self.text(told.get("name"), f"{path}.name"), self.text(told.get("path"), f"{path}.path") or "/")

    def retry(self, node: Node | None, path: str) -> Retry | None:
        if node is None or is_empty(node):
            return None
        told = self.keys(node, path, keys.RETRY)
        if "limit" not in told:
            self.refuse(path, node.spot, "must have a limit: how often at most it is tried again")
        usual = Retry(0)
        return Retry(
            limit=self.number(told.get("limit"), f"{path}.limit", none=0, least=0),
            backoff=self.period(told.get("backoff"), f"{path}.backoff") or usual.backoff,
            max_backoff=self.period(told.get("max_backoff"), f"{path}.max_backoff") or usual.max_backoff,
            jitter=self._part(told.get("jitter"), f"{path}.jitter"),
            not_on=tuple(self.integer(item, at) for at, item in self.items(told.get("not_on"), f"{path}.not_on")),
        )

    def _part(self, node: Node | None, path: str) -> float:
        if node is None or is_empty(node):
            return 0.0
        value = node.value if isinstance(node, Scalar) else None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            self.refuse(path, node.spot, "must be a number from 0 to 1")
            return 0.0
        return float(value)

    def approval(self, node: Node | None, path: str) -> Approval | None:
        """`true`, or an object, be it empty."""
        if node is None or isinstance(node, Scalar):
            return Approval() if self.boolean(node, path) else None
        told = self.keys(node, path, keys.APPROVAL)
        return Approval(
            users=self.names(told.get("users"), f"{path}.users"),
            message=self.text(told.get("message"), f"{path}.message"),
            timeout=self.period(told.get("timeout"), f"{path}.timeout"),
        )

    def job(self, node: Node | None, path: str) -> dict[str, object]:
        for name in self.mapping(node, path):
            if name not in keys.JOB_FIELDS:
                self._refuse_key(node, path, name, f"is nothing that a step says of its job; {_job_field(name)}")
        told = {} if node is None else self.json(node, path)
        return told if isinstance(told, dict) else {}

    def notice(self, node: Node, path: str) -> dict[str, object]:
        """Who is told."""
        told = self.keys(node, path, keys.NOTIFY)
        webhook, command = (self.text(told.get(key), f"{path}.{key}") for key in ("webhook", "command"))
        if bool(webhook) == bool(command):
            self.refuse(path, node.spot, "must have either a webhook or a command")
        if webhook and not webhook.startswith(("http://", "https://")):
            self.refuse(f"{path}.webhook", told["webhook"].spot, f"must be an http URL, and is {shown(webhook)}")
        secret = self.keys(told.get("secret"), f"{path}.secret", keys.SECRET)
        if not webhook:
            return {"command": command}
        file = self.text(secret.get("file"), f"{path}.secret.file")
        return {"webhook": webhook, **({"secret": {"file": file}} if file else {})}


_NO_CACHE = Cache()


def _of_style(name: str, known: Mapping[str, str]) -> tuple[str, ...]:
    """The keys as they are written where `name` is: with capitals, or with underscores."""
    if name.lower() == name:
        return tuple(dict.fromkeys(known.values()))
    return tuple(spelled for spelled in known if "_" not in spelled)


def _job_field(name: str) -> str:
    decided = {"command", "image", "env", "fs", "extraFS", "name", "id", "retry"}
    return "the step itself does" if name in decided else nearest(name, keys.JOB_FIELDS)
