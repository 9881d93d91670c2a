"""Values of parameters and results, which may be anything that JSON has."""

from __future__ import annotations

from collections.abc import Mapping

from google.protobuf.json_format import ParseDict, ParseError
from google.protobuf.struct_pb2 import Value

from paddleflow.problems import InvalidArgument, Violation
from paddleflow.structs import plain_value


def values_to_wire(field: str, values: Mapping[str, object]) -> dict[str, Value]:
    """The values by name; raises InvalidArgument naming the one that JSON does not have."""
    return {name: _value_to_wire(f"{field}.{name}", value) for name, value in values.items()}


def values_from_wire(values: Mapping[str, Value]) -> dict[str, object]:
    """In the order of their names: a message keeps none."""
    return {name: plain_value(value) for name, value in sorted(values.items())}


def _value_to_wire(field: str, value: object) -> Value:
    try:
        return ParseDict(value, Value())  # type: ignore[arg-type]  # it takes whatever JSON has
    except (ParseError, TypeError, ValueError) as error:
        raise InvalidArgument.of(Violation(field, "is neither a text, a number, true or false, nor a list")) from error
