"""Objects that a message holds as they are: those of Kubernetes, for example."""

from __future__ import annotations

from google.protobuf.json_format import MessageToDict
from google.protobuf.struct_pb2 import Struct, Value

LARGEST_WHOLE = 2**53
"""Up to here a fraction of 64 bits holds every whole number."""


def plain(message: Struct) -> dict[str, object]:
    """The object, its names in order, and whole numbers as such.

    A message keeps no order, and has fractions only; Kubernetes takes no 2.0 where it counts.
    """
    return {name: _whole(value) for name, value in sorted(MessageToDict(message).items())}


def plain_value(message: Value) -> object:
    """The value, in the same way."""
    return _whole(MessageToDict(message))


def _whole(told: object) -> object:
    match told:
        case dict():
            return {name: _whole(value) for name, value in sorted(told.items())}
        case list():
            return [_whole(value) for value in told]
        case float() if told.is_integer() and abs(told) <= LARGEST_WHOLE:
            return int(told)
        case _:
            return told
