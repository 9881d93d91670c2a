"""What is to be at a target, and whether what is there is that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

from pf_csi import options as option_words
from pf_csi.options import Options
from pf_csi.places import Named, Place, Rules, digest, place_of
from pf_csi.records import RECORD_KEY
from pf_csi.refusals import Refusal, Why

EPHEMERAL, POD = "csi.storage.k8s.io/ephemeral", "csi.storage.k8s.io/pod.uid"


@dataclass(frozen=True, slots=True)
class Asked:
    """What the kubelet asks for, as it came."""

    volume: str
    target: str
    flags: Sequence[str] = ()
    group: str = ""
    read_only: bool = False
    context: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    alone: bool = False
    """Nobody else on this machine may have the volume."""


@dataclass(frozen=True, slots=True)
class Wish:
    """A volume at a target, once all that was said is understood."""

    volume: str
    target: str
    pod: str
    place: Place | Named
    options: Options
    record: str = ""
    """Where its quota stands, beside the volume; empty: nowhere."""
    alone: bool = False

    def shape(self, salt: bytes) -> str:
        """What must be the same in another attempt; secrets are not part of it."""
        place = self.place
        told = [place.url, dict(place.properties)] if isinstance(place, Place) else [place.name, place.folder]
        return digest(salt, self.volume, told, _said(self.options))

    def key(self, salt: bytes) -> str:
        """What pods must have in common to share a mount, and the name of its folder."""
        place = self.place
        secrets = dict(place.secrets) if isinstance(place, Place) else place.token
        return digest(salt, self.shape(salt), secrets)


def _said(options: Options) -> dict[str, object]:
    """What is not as usual, by name: another version, which knows of more options, finds the same."""
    usual, said = asdict(Options()), asdict(options)
    return {name: value for name, value in said.items() if value != usual[name]}


@dataclass(frozen=True, slots=True)
class Entry:
    """What the journal knows of a target."""

    target: str
    volume: str
    key: str
    shape: str
    """Empty: not known any more."""
    pod: str
    read_only: bool
    generation: int
    """How often the mount of the key had been made anew when it was bound here."""
    boot: str
    """During which run of the machine."""
    alone: bool = False
    """Nobody else on this machine may have the volume."""


def wish_of(asked: Asked, rules: Rules) -> Wish:
    """Refusal with what is wrong."""
    inline = asked.context.get(EPHEMERAL) == "true"
    place = place_of(asked.context, asked.secrets, rules, inline=inline)
    told = option_words.parse(asked.flags)
    if asked.read_only:
        told["read_only"] = True
    options = Options(**told)
    if asked.group:
        options = replace(options, gid=option_words.group(asked.group), grouped=True)
    pod, record = asked.context.get(POD, ""), asked.context.get(RECORD_KEY, "")
    return Wish(asked.volume, asked.target, pod, place, options, record, asked.alone)


def check_same(entry: Entry, wish: Wish, salt: bytes) -> None:
    """Refusal if something else was published at the target. What is recalled has no shape, and may have no volume."""
    if entry.volume not in {wish.volume, ""} or entry.shape not in {wish.shape(salt), ""}:
        raise Refusal(Why.DIFFERENT, "something else is published at this target; unpublish it first")


def check_alone(wish: Wish, others: Iterable[Entry | Wish]) -> None:
    """Refusal if somebody has the volume at another target, and one of both is to be alone with it."""
    for other in others:
        if other.volume == wish.volume and other.target != wish.target and (wish.alone or other.alone):
            raise Refusal(Why.UNREADY, f"one pod alone may have this volume, and it is published at {other.target}")
