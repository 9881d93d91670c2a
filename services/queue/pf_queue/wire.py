"""Between messages that all parts of the service share and the values of the domain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from paddleflow.common.v1 import resources_pb2
from paddleflow.problems import InvalidArgument, Violation
from pf_queue.resources import Resources

T = TypeVar("T")
U = TypeVar("U")


def resources_message(resources: Resources) -> resources_pb2.Resources:
    return resources_pb2.Resources(amounts=resources)


def resources_of(message: resources_pb2.Resources) -> Resources:
    """The amounts of a message; one that is not set has none."""
    return Resources(message.amounts)


def enum_value(field: str, value: int, values: Mapping[T, int], unspecified: U) -> T | U:
    """Our word for a value of an enum; InvalidArgument if the contract does not define it."""
    if not value:
        return unspecified
    for ours, theirs in values.items():
        if theirs == value:
            return ours
    raise InvalidArgument.of(Violation(field, f"must be one of the values that are defined, and is {value}"))
