"""What may be said about a mount: by the author of a volume, and by the author of a pod that brings its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pf_csi.refusals import Refusal, Why

_OCTAL = re.compile(r"0?[0-7]{3,4}")
_SIZES = {"": 1, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40}
_SIZE = re.compile(rf"(\d{{1,15}})({'|'.join(_SIZES)})")
_LONGEST = 86_400.0
_LARGEST_ID = (1 << 32) - 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a volume is mounted. All of it is part of what pods must have in common to share a mount."""

    read_only: bool = False
    dataset: bool = False
    """Nobody changes what lies there as long as it is mounted."""
    lasts: float = 1.0
    """Seconds for which names and attributes are taken for true."""
    uid: int = 0
    gid: int = 0
    file_mode: int = 0o644
    folder_mode: int = 0o755
    grouped: bool = False
    """All files look as if they were of the group, which may read and write them, whatever the storage says."""
    cache_size: int | None = None
    """Bytes of the machine's disk."""
    quota: int | None = None
    """Bytes that may lie in the volume."""


def parse(flags: Sequence[str]) -> dict[str, Any]:
    """What options of a mount say, as fields of `Options`. Refusal names each that is not known or malformed.

    A value may be secret, so it is not repeated.
    """
    found: dict[str, Any] = {}
    wrong: list[str] = []
    for flag in (each.strip() for text in flags for each in text.split(",")):
        name, _, value = flag.partition("=")
        reader = _READERS.get(name)
        try:
            found |= (reader or _unknown(name))(value)
        except ValueError as error:
            wrong.append(str(error))
    if wrong:
        raise Refusal(Why.MALFORMED, "mount options: " + "; ".join(wrong))
    return found


def size(text: str) -> int:
    """Bytes, as in 10Gi; ValueError."""
    found = _SIZE.fullmatch(text)
    if found is None:
        raise ValueError("must be bytes as in 10Gi")
    return int(found[1]) * _SIZES[found[2]]


def number(text: str, most: int) -> int:
    """A whole number from 0; ValueError."""
    if not text.isascii() or not text.isdigit() or len(text) > 20 or int(text) > most:
        raise ValueError(f"must be a number from 0 to {most}")
    return int(text)


def group(text: str) -> int:
    """The number of a group; Refusal."""
    try:
        return number(text, _LARGEST_ID)
    except ValueError as error:
        raise Refusal(Why.MALFORMED, f"volume_mount_group: {error}") from None


def _unknown(name: str) -> Callable[[str], dict[str, Any]]:
    def read(_: str) -> dict[str, Any]:
        raise ValueError(f"{name[:40]!r} is no option; there are {', '.join(_READERS)}")

    return read


def _flag(field: str, value: object = True) -> Callable[[str], dict[str, Any]]:
    def read(text: str) -> dict[str, Any]:
        if text:
            raise ValueError(f"{field} takes no value")
        return {field: value}

    return read


def _named(name: str, field: str, read: Callable[[str], object]) -> Callable[[str], dict[str, Any]]:
    def named(text: str) -> dict[str, Any]:
        try:
            return {field: read(text)}
        except ValueError as error:
            raise ValueError(f"{name} {error}") from None

    return named


def _id(text: str) -> int:
    return number(text, _LARGEST_ID)


def _mode(text: str) -> int:
    if not _OCTAL.fullmatch(text) or int(text, 8) > 0o777:
        raise ValueError("must be permissions as in 644")
    return int(text, 8)


def _seconds(text: str) -> float:
    if not re.fullmatch(r"\d{1,6}(\.\d{1,6})?", text) or float(text) > _LONGEST:
        raise ValueError(f"must be seconds from 0 to {_LONGEST:.0f}")
    return float(text)


_READERS: Mapping[str, Callable[[str], dict[str, Any]]] = {
    "ro": _flag("read_only"),
    "rw": _flag("read_only", False),
    "dataset": _flag("dataset"),
    "attr-timeout": _named("attr-timeout", "lasts", _seconds),
    "uid": _named("uid", "uid", _id),
    "gid": _named("gid", "gid", _id),
    "file-mode": _named("file-mode", "file_mode", _mode),
    "dir-mode": _named("dir-mode", "folder_mode", _mode),
    "cache-size": _named("cache-size", "cache_size", size),
    "quota": _named("quota", "quota", size),
}
