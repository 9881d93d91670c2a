"""Volumes that the controller makes, and what may be asked of it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b

from pf_csi.places import SECRET, Place
from pf_csi.records import RECORD_KEY, Record, folder_of, is_folder
from pf_csi.refusals import Refusal, Why

DEFAULT_SIZE = 1 << 30
ALL = "all-"
"""How the folder of a volume is called that is all of its store."""
STORE = re.compile(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?")
_PARAMETERS = frozenset(("store", "contents"))
_KUBERNETES = ("csi.storage.k8s.io/",)
_LONGEST_NAME = 1024
_LARGEST = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class VolumeId:
    """A volume, as it is called everywhere: the store, and the folder in it."""

    store: str
    folder: str

    def __str__(self) -> str:
        return f"{self.store}/{self.folder}"

    @property
    def whole(self) -> bool:
        """It is all that lies in the store, and nothing of it is ever removed."""
        return self.folder.startswith(ALL)


@dataclass(frozen=True, slots=True)
class Range:
    """Bytes that are asked for; 0: any."""

    least: int = 0
    most: int = 0

    def size(self) -> int:
        """What is given. Refusal if that cannot be."""
        if self.least < 0 or self.most < 0:
            raise Refusal(Why.MALFORMED, "capacity_range: sizes cannot be negative")
        if self.most and self.least > self.most:
            raise Refusal(Why.TOO_MUCH, "capacity_range: required_bytes is more than limit_bytes")
        return self.least or min(DEFAULT_SIZE, self.most or DEFAULT_SIZE)

    def holds(self, size: int) -> bool:
        return self.least <= size <= (self.most or _LARGEST)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A volume that is asked for."""

    name: str
    range: Range
    parameters: Mapping[str, str] = field(default_factory=dict)

    @property
    def own(self) -> Mapping[str, str]:
        """Parameters that are for this driver."""
        return {name: text for name, text in self.parameters.items() if not name.startswith(_KUBERNETES)}

    @property
    def digest(self) -> str:
        return blake2b(repr(sorted(self.own.items())).encode(), digest_size=16).hexdigest()

    def check(self) -> None:
        """Refusal of what nobody can mean."""
        if not self.name or len(self.name.encode()) > _LONGEST_NAME or not _without_controls(self.name):
            raise Refusal(Why.MALFORMED, f"name must have 1 to {_LONGEST_NAME} bytes and no control characters")
        if unknown := sorted(self.own.keys() - _PARAMETERS):
            raise Refusal(Why.MALFORMED, f"parameters: {unknown[0][:40]!r} is not known; there are store and contents")
        if self.own.get("contents", "folder") not in {"folder", "all"}:
            raise Refusal(Why.MALFORMED, "parameters: contents must be folder or all")

    def id(self, store: str) -> VolumeId:
        folder = folder_of(self.name)
        return VolumeId(store, f"{ALL}{folder}" if self.own.get("contents") == "all" else folder)


@dataclass(frozen=True, slots=True)
class Made:
    """A volume that is there."""

    id: VolumeId
    size: int
    context: Mapping[str, str] = field(default_factory=dict)


def parse_id(text: str) -> VolumeId | None:
    """None if it is none of ours: paths that lead elsewhere are none."""
    store, _, folder = text.partition("/")
    if not STORE.fullmatch(store) or not is_folder(folder.removeprefix(ALL)):
        return None
    return VolumeId(store, folder)


def store_of(wanted: Wanted, stores: Collection[str]) -> str:
    """Where it is to be made. Refusal."""
    name = wanted.own.get("store", "")
    if not name and len(stores) == 1:
        return next(iter(stores))
    if name not in stores:
        known = ", ".join(sorted(stores)) or "none is set up"
        raise Refusal(Why.MALFORMED, f"parameters: store must be one of these: {known}")
    return name


def check_same(record: Record, wanted: Wanted) -> None:
    """Refusal if another volume was asked for under the name."""
    if record.parameters != wanted.digest or not wanted.range.holds(record.size):
        raise Refusal(Why.DIFFERENT, "a volume of this name exists with another size or other parameters")


def context_of(volume: VolumeId, place: Place) -> Mapping[str, str]:
    """What machines are told. No secrets, and not who is asked for: that is the secret of those who mount."""
    told = {name: text for name, text in place.properties.items() if name not in SECRET and name != "accessKey"}
    if volume.whole:
        return {"url": place.url, **told}
    return {"url": place.within(volume.folder).url, **told, RECORD_KEY: volume.folder}


def _without_controls(text: str) -> bool:
    return all(ord(letter) >= 32 and not 127 <= ord(letter) < 160 for letter in text)
