"""Values as texts, and texts as values."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from decimal import Decimal
from math import isfinite

from paddleflow.documents.reader import shown
from pf_pipeline.documents.model import ParameterKind, Result, ResultKind, Value

_INTEGER = re.compile(r"[-+]?[0-9]{1,400}", re.ASCII)
_NUMBER = re.compile(r"[-+]?([0-9]{1,400}(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]{1,3})?", re.ASCII)
_NO_TEXT = re.compile("[\0\ud800-\udfff]")
"""What JSON can say and no file in UTF-8, no variable and no database can hold."""
_DEEPEST = 100
"""Lists in lists."""


class Unsettled(Exception):
    """A template cannot be replaced, or what it became makes no sense; the node fails with this message."""


def text_of(value: Value) -> str:
    """Numbers without exponent; the items of a list in brackets, with blanks between them."""
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return format(Decimal(repr(value)), "f")
        case _:
            return f"[{' '.join(map(text_of, value))}]"


def typed(text: str, kind: ParameterKind | None) -> Value:
    """What a text stands for, if it can stand for such a thing; else the text."""
    match kind:
        case ParameterKind.INT if _INTEGER.fullmatch(text):
            return int(text)
        case ParameterKind.FLOAT if _NUMBER.fullmatch(text) and isfinite(float(text)):
            return int(text) if _INTEGER.fullmatch(text) else float(text)
        case ParameterKind.LIST:
            with suppress(Unsettled):
                return list_of(text, "")
    return text


def list_of(text: str, what: str) -> tuple[Value, ...]:
    """The items of a list in JSON: numbers, texts and lists."""
    try:
        items = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise Unsettled(f"{what} is no JSON of a list: {shown(text)}") from error
    if not isinstance(items, list):
        raise Unsettled(f"{what} is no list: {shown(text)}")
    return tuple(_item(item, what, _DEEPEST) for item in items)


def _no_constant(name: str) -> object:
    raise ValueError(name)


def _item(item: object, what: str, deepest: int) -> Value:
    if isinstance(item, list):
        if not deepest:
            raise Unsettled(f"{what} has lists that are nested deeper than {_DEEPEST}")
        return tuple(_item(each, what, deepest - 1) for each in item)
    if isinstance(item, bool) or not isinstance(item, str | int | float):
        raise Unsettled(f"{what} has an item that is neither a number, a text nor a list: {shown(json.dumps(item))}")
    if isinstance(item, float) and not isfinite(item):
        raise Unsettled(f"{what} has a number larger than any that can be computed with")
    if isinstance(item, str) and _NO_TEXT.search(item):
        raise Unsettled(f"{what} has a text with characters that nothing can keep: {shown(json.dumps(item))}")
    return item


def result_of(result: Result, name: str, text: str) -> Value:
    """The small result that a step wrote as this text."""
    told, what = text.strip(), f"result {name}"
    match result.kind:
        case ResultKind.LIST:
            return list_of(told, what)
        case ResultKind.INT if _INTEGER.fullmatch(told):
            return int(told)
        case ResultKind.FLOAT if _NUMBER.fullmatch(told) and isfinite(float(told)):
            return float(told)
        case ResultKind.BOOL if told.lower() in ("true", "false"):
            return told.lower() == "true"
        case ResultKind.STRING:
            return text.removesuffix("\n").removesuffix("\r")
    raise Unsettled(f"{what} must be {result.kind}, and is {shown(told)}")


def blank_of(result: Result) -> Value:
    """The small result of a step that is not run."""
    if result.default is not None:
        return result.default
    match result.kind:
        case ResultKind.INT:
            return 0
        case ResultKind.FLOAT:
            return 0.0
        case ResultKind.BOOL:
            return False
        case ResultKind.LIST:
            return ()
        case ResultKind.STRING:
            return ""
