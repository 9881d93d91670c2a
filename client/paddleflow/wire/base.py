"""What every message is made of: times, amounts, enums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Generic, Protocol, TypeVar

from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from paddleflow.common.v1 import resources_pb2

E = TypeVar("E", bound=StrEnum)
V = TypeVar("V", bound=int)


class WireEnum(Protocol[V]):
    """An enum as a generated module holds it."""

    def items(self) -> list[tuple[str, V]]: ...


class EnumCodec(Generic[E, V]):
    """Members of an enum of ours to and from numbers on the wire.

    The members are named as on the wire, without the prefix. A number that a newer server sends and that is not known
    here reads as UNSPECIFIED.
    """

    def __init__(self, kind: type[E], wire: WireEnum[V], prefix: str) -> None:
        self.kind = kind
        self._numbers = {kind[name.removeprefix(prefix)]: number for name, number in wire.items()}
        self._members = {int(number): member for member, number in self._numbers.items()}

    def number(self, member: E) -> V:
        return self._numbers[member]

    def member(self, number: int) -> E:
        return self._members.get(number, self._members[0])


def amounts_to_wire(amounts: Mapping[str, int]) -> resources_pb2.Resources | None:
    """Amounts as a message; None, which leaves the field unset, if there are none."""
    return resources_pb2.Resources(amounts=amounts) if amounts else None


def amounts_from_wire(resources: resources_pb2.Resources) -> dict[str, int]:
    return dict(resources.amounts)


def time_from_wire(message: Message, field: str) -> datetime | None:
    """The moment in the field; None if it is unset."""
    stamp = getattr(message, field)
    return stamp.ToDatetime(tzinfo=UTC) if isinstance(stamp, Timestamp) and message.HasField(field) else None


def time_to_wire(moment: datetime) -> Timestamp:
    stamp = Timestamp()
    stamp.FromDatetime(moment)
    return stamp


def write_changes(
    message: Message, changes: Mapping[str, object], enums: Sequence[EnumCodec[Any, Any]] = ()
) -> FieldMask:
    """Writes new values into the fields of a message, and tells which they are.

    Of amounts and labels only the names given are written; one whose value is None is told of but left out, which
    removes it.
    """
    mask = FieldMask()
    for field, value in changes.items():
        if isinstance(value, Mapping):
            mask.paths.extend(_write_entries(message, field, value))
            continue
        mask.paths.append(field)
        if isinstance(value, StrEnum):
            value = next(codec.number(value) for codec in enums if isinstance(value, codec.kind))
        if isinstance(value, tuple | list):
            getattr(message, field).extend(value)
        else:
            setattr(message, field, value)
    return mask


def _write_entries(message: Message, field: str, entries: Mapping[str, object]) -> list[str]:
    target = getattr(message, field)
    path = field
    if isinstance(target, resources_pb2.Resources):
        target, path = target.amounts, f"{field}.amounts"
    target.update({key: value for key, value in entries.items() if value is not None})
    return [f"{path}.{key}" for key in entries]
