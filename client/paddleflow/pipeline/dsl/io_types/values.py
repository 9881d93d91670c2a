"""What values of parameters and items of loops may be."""

from __future__ import annotations

import json

from paddleflow.pipeline.dsl.names import refused

TYPES: dict[object, str] = {str: "string", float: "float", int: "int", list: "list"}
"""Types of Python, as the language names them."""
PARAMETER_TYPES = (*TYPES.values(), "path")
RESULT_TYPES = ("string", "int", "float", "bool", "list")


def is_value(value: object) -> bool:
    """Whether a parameter can have this value."""
    return isinstance(value, (str, int, float, list)) and not isinstance(value, bool)


def type_name(kind: object) -> str:
    """The type of a parameter as the language names it; raises for one that it does not know."""
    if isinstance(kind, str) and kind in PARAMETER_TYPES:
        return kind
    if isinstance(kind, type) and kind in TYPES:
        return TYPES[kind]
    raise refused(f"{kind!r} is no type of a parameter: one of str, int, float, list and 'path' is")


def converted(kind: str, value: object) -> object:
    """The value as one of this type; raises if nothing is one."""
    try:
        found = _converted(kind, value)
    except ValueError as error:
        raise refused(f"{value!r} is not of the type {kind}, which the parameter has") from error
    if found is None:
        raise refused(f"{value!r} is not of the type {kind}, which the parameter has")
    return found


def _converted(kind: str, value: object) -> object:
    match kind, value:
        case _, bool():
            return None
        case "int", int() | str():
            return int(value)
        case "int", float() if value.is_integer():
            return int(value)
        case "float", int() | float() | str():
            return float(value)
        case "list", list() | tuple():
            return list(value)
        case "list", str():
            return _list(value)
        case (("string" | "path"), str() | int() | float()):
            return str(value)
    return None


def _list(text: str) -> object:
    found = json.loads(text)
    return found if isinstance(found, list) else None
