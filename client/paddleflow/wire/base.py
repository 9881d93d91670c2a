"""What every message is made of: times, amounts, enums."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, Generic, ParamSpec, Protocol, TypeVar

from google.protobuf.duration_pb2 import Duration
from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from paddleflow.common.v1 import resources_pb2
from paddleflow.problems import InvalidArgument, Violation

E = TypeVar("E", bound=StrEnum)
V = TypeVar("V", bound=int)
G = TypeVar("G", bound=Message)
P = ParamSpec("P")

LONGEST_DURATION = timedelta(days=3_650_000)
"""What `google.protobuf.Duration` may hold: some 10000 years."""
_UNFIT = (AttributeError, TypeError, ValueError)
"""What protobuf raises for values that a field cannot hold."""


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
        """The number of the member, which may be given as its plain text."""
        if member not in self._numbers:
            words = ", ".join(each for each in self.kind if each)
            raise InvalidArgument.of(Violation(self.kind.__name__, f"{str(member)!r} is not one of {words}"))
        return self._numbers[member]

    def member(self, number: int) -> E:
        return self._members.get(number, self._members[0])


def build(kind: Callable[P, G], /, *positional: P.args, **fields: P.kwargs) -> G:
    """The message of these fields; raises InvalidArgument naming each whose value it cannot hold."""
    try:
        return kind(*positional, **fields)
    except _UNFIT as error:
        raise InvalidArgument.of(*_unfit(kind, fields)) from error


def _unfit(kind: Callable[..., Message], fields: Mapping[str, object]) -> Iterator[Violation]:
    for name, value in fields.items():
        try:
            kind(**{name: value})
        except _UNFIT as error:
            yield Violation(name, _reason(error))


def _reason(error: Exception) -> str:
    """Why a value does not fit; never the value itself, which may be a secret."""
    return "cannot be of this type" if isinstance(error, AttributeError | TypeError) else str(error)


def amounts_to_wire(amounts: Mapping[str, int]) -> resources_pb2.Resources | None:
    """Amounts as a message; None, which leaves the field unset, if there are none."""
    return build(resources_pb2.Resources, amounts=amounts) if amounts else None


def amounts_from_wire(resources: resources_pb2.Resources) -> dict[str, int]:
    return dict(resources.amounts)


def time_from_wire(message: Message, field: str) -> datetime | None:
    """The moment in the field; None if it is unset."""
    stamp = getattr(message, field)
    return stamp.ToDatetime(tzinfo=UTC) if isinstance(stamp, Timestamp) and message.HasField(field) else None


def time_to_wire(field: str, moment: datetime) -> Timestamp:
    """The moment as a message; raises InvalidArgument if nobody could tell which moment it is."""
    if moment.tzinfo is None:
        raise InvalidArgument.of(Violation(field, "needs a time zone, as in datetime(2026, 5, 1, tzinfo=UTC)"))
    stamp = Timestamp()
    try:
        stamp.FromDatetime(moment)
    except (OverflowError, ValueError) as error:
        raise InvalidArgument.of(Violation(field, "lies before the year 1 or after 9999")) from error
    return stamp


def duration_to_wire(field: str, lasting: timedelta) -> Duration:
    if abs(lasting) > LONGEST_DURATION:
        raise InvalidArgument.of(Violation(field, "is more than 10000 years"))
    duration = Duration()
    duration.FromTimedelta(lasting)
    return duration


def write_changes(
    message: Message, changes: Mapping[str, object], enums: Mapping[str, EnumCodec[Any, Any]]
) -> FieldMask:
    """Writes new values into the fields of a message, and tells which they are.

    Of amounts and labels only the names given are written; one whose value is None is told of but left out, which
    removes it. Raises InvalidArgument if there is no change, or naming the field that cannot hold its value.
    """
    mask = FieldMask()
    for field, value in changes.items():
        try:
            mask.paths.extend(_write(message, field, enums[field].number(value) if field in enums else value))
        except _UNFIT as error:
            raise InvalidArgument.of(Violation(field, _reason(error))) from error
    if not mask.paths:
        raise InvalidArgument("Nothing to change is given")
    return mask


def _write(message: Message, field: str, value: object) -> list[str]:
    if isinstance(value, Mapping):
        return _write_entries(message, field, value)
    if isinstance(value, tuple | list):
        getattr(message, field).extend(value)
    else:
        setattr(message, field, value)
    return [field]


def _write_entries(message: Message, field: str, entries: Mapping[str, object]) -> list[str]:
    target = getattr(message, field)
    path = field
    if isinstance(target, resources_pb2.Resources):
        target, path = target.amounts, f"{field}.amounts"
    target.update({key: value for key, value in entries.items() if value is not None})
    return [f"{path}.{key}" for key in entries]
