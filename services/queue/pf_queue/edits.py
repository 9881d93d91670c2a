"""What an update mask asks for, applied to what is stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from paddleflow.problems import EtagMismatch, Immutable, InvalidArgument, Violation
from pf_kit.fields import shown
from pf_queue.resources import Resources

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

MOST_PATHS = 256
R = TypeVar("R", bound="DataclassInstance")


@dataclass(frozen=True, slots=True)
class Editable:
    """Which fields of a record a mask may name, each as it is called on the wire."""

    whole: frozenset[str]
    """Fields that are taken as a whole."""
    resources: frozenset[str] = frozenset()
    """Fields that are resources: taken as a whole, or one by one as in ``max.amounts.cpu``."""
    pairs: frozenset[str] = frozenset()
    """Fields that are maps of strings: taken as a whole, or one by one as in ``labels.stage``."""
    fixed: frozenset[str] = frozenset()
    """Fields that never change; naming one is harmless as long as its value is the same."""
    attributes: Mapping[str, str] = field(default_factory=dict)
    """What a field is called in the record, where that is not its name on the wire."""

    def __post_init__(self) -> None:
        if "name" in self.whole | self.resources | self.pairs | self.fixed:
            raise ValueError("a name says which record to edit, so it is never edited")


def edited(current: R, given: R, mask: Sequence[str], editable: Editable) -> R:
    """The stored record with the values given for the fields that the mask names."""
    if not mask:
        raise InvalidArgument.of(Violation("update_mask", "names no field: nothing to change is given"))
    if len(mask) > MOST_PATHS:
        raise InvalidArgument.of(Violation("update_mask", f"must name at most {MOST_PATHS} fields, not {len(mask)}"))
    for path in mask:
        current = _edited_at(path, current, given, editable)
    return current


def named(mask: Sequence[str]) -> frozenset[str]:
    """The fields that a mask names, wholly or in part."""
    return frozenset(path.partition(".")[0] for path in mask)


def require_etag(asked: str, etag: str) -> None:
    """Raises EtagMismatch if the caller expects another state than the one that is stored."""
    if asked and asked != etag:
        raise EtagMismatch(f"changed since etag {shown(asked)}: it is {etag!r} now; read it again, then decide")


def _edited_at(path: str, current: R, given: R, editable: Editable) -> R:
    name, part, key = path.partition(".")
    attribute = editable.attributes.get(name, name)
    if name == "name" or name in editable.fixed:
        _require_same(name, attribute, current, given)
        return current
    if not part and name in editable.whole | editable.resources | editable.pairs:
        return replace(current, **{attribute: getattr(given, attribute)})
    if name in editable.resources and key.startswith("amounts."):
        return replace(current, **{attribute: _one_amount(key, getattr(current, attribute), getattr(given, attribute))})
    if name in editable.pairs and key:
        return replace(current, **{attribute: _one_pair(key, getattr(current, attribute), getattr(given, attribute))})
    raise InvalidArgument.of(Violation("update_mask", f"{shown(path)} is not a field that can be changed"))


def _require_same(name: str, attribute: str, current: object, given: object) -> None:
    # Whoever asks to take the name means another one than the name that says which record to change.
    if name == "name" or getattr(given, attribute) != getattr(current, attribute):
        message = f"{name} cannot be changed after creation; make a new one"
        raise Immutable(message, violations=(Violation("update_mask", message),))


def _one_amount(key: str, current: Resources, given: Resources) -> Resources:
    name = key.removeprefix("amounts.")
    return current.replaced(name, given.get(name))


def _one_pair(key: str, current: Mapping[str, str], given: Mapping[str, str]) -> Mapping[str, str]:
    others = {other: value for other, value in current.items() if other != key}
    return others | {key: given[key]} if key in given else others
