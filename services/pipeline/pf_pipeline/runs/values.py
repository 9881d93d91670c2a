"""Values of parameters as JSON in messages."""

from __future__ import annotations

from collections.abc import Mapping

from google.protobuf import struct_pb2

from pf_pipeline.documents.model import Value
from pf_pipeline.plans.requests import Given


def value_message(value: Value) -> struct_pb2.Value:
    match value:
        case bool():
            return struct_pb2.Value(bool_value=value)
        case str():
            return struct_pb2.Value(string_value=value)
        case int() | float():
            return struct_pb2.Value(number_value=value)
        case _:
            items = struct_pb2.ListValue(values=[value_message(item) for item in value])
            return struct_pb2.Value(list_value=items)


def value_messages(values: Mapping[str, Value]) -> dict[str, struct_pb2.Value]:
    return {name: value_message(value) for name, value in values.items()}


def given_message(given: object) -> struct_pb2.Value:
    """What somebody gave, as it was kept: JSON."""
    if isinstance(given, Mapping):
        fields = {str(name): given_message(value) for name, value in given.items()}
        return struct_pb2.Value(struct_value=struct_pb2.Struct(fields=fields))
    if isinstance(given, list | tuple):
        return struct_pb2.Value(list_value=struct_pb2.ListValue(values=[given_message(item) for item in given]))
    if isinstance(given, str | bool | int | float):
        return value_message(given)
    return struct_pb2.Value(null_value=struct_pb2.NULL_VALUE)


def given_of(message: struct_pb2.Value) -> Given:
    """What somebody gave; whole numbers are such, as JSON has one kind of numbers."""
    match message.WhichOneof("kind"):
        case "string_value":
            return message.string_value
        case "number_value":
            number = message.number_value
            return int(number) if number.is_integer() else number
        case "bool_value":
            return message.bool_value
        case "list_value":
            return tuple(_item(given_of(item)) for item in message.list_value.values)
        case "struct_value":
            return {name: given_of(value) for name, value in message.struct_value.fields.items()}
    return None


def holds_nul(message: struct_pb2.Value) -> bool:
    """True if a text in it holds a NUL, which no command and no database can have."""
    match message.WhichOneof("kind"):
        case "string_value":
            return "\0" in message.string_value
        case "list_value":
            return any(map(holds_nul, message.list_value.values))
        case "struct_value":
            return any("\0" in name or holds_nul(value) for name, value in message.struct_value.fields.items())
    return False


def _item(given: Given) -> Value:
    """Lists hold plain values and lists; whatever else is shown as what it is not, and refused by its type."""
    return "" if given is None or isinstance(given, Mapping) else given
