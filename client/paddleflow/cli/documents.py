"""What people write in files: YAML, of which JSON is a part, read with the place named of whatever is wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from paddleflow.problems import InvalidArgument, Violation
from paddleflow.quantity import parse_resources, within

T = TypeVar("T")


def read_yaml(text: bytes) -> object:
    import yaml  # noqa: PLC0415 -- few commands need it

    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise refused("file", f"is neither YAML nor JSON: {error}") from error


def mapping(told: object, place: str, keys: frozenset[str]) -> Mapping[str, object]:
    """A mapping that has no other keys."""
    if not isinstance(told, Mapping):
        raise refused(place, f"is not a mapping of {', '.join(sorted(keys))}")
    unknown = sorted(str(key) for key in told.keys() - keys)
    if unknown:
        raise refused(place, f"has no {', '.join(unknown)}; there are {', '.join(sorted(keys))}")
    return told


def texts(told: object, place: str) -> dict[str, str]:
    if not isinstance(told, Mapping):
        raise refused(place, "is not a mapping")
    return {str(key): str(value) for key, value in told.items()}


def resources(told: object, place: str) -> dict[str, int]:
    quantities = texts(told, place)
    with within(place):
        return parse_resources(quantities)


def each(fields: Mapping[str, object], key: str, read: Callable[[object, str], T]) -> list[T]:
    """The things of a list, which may be left out."""
    told = fields.get(key, [])
    if not isinstance(told, list):
        raise refused(key, "is not a list")
    return [read(one, f"{key}[{at}]") for at, one in enumerate(told)]


def name(fields: Mapping[str, object], key: str, place: str) -> str:
    """A text that must be there."""
    if not isinstance(told := fields.get(key), str) or not told:
        raise refused(f"{place}.{key}", "is missing, or no text")
    return told


def number(fields: Mapping[str, object], key: str, place: str, default: int) -> int:
    told = fields.get(key, default)
    if not isinstance(told, int) or isinstance(told, bool):
        raise refused(f"{place}.{key}", f"{told!r} is not a whole number")
    return told


def refused(field: str, description: str) -> InvalidArgument:
    return InvalidArgument.of(Violation(field, description))
