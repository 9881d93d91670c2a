"""Whether values are what they must be."""

from __future__ import annotations

import re

from paddleflow.documents.reader import shown
from pf_pipeline.documents.model import Parameter, ParameterKind, Result, ResultKind, Value
from pf_pipeline.documents.templates import refs, replaced

_PATH = re.compile(r"[.a-zA-Z0-9/_-]+", re.ASCII)
_NUMBER = re.compile(r"[-+]?([0-9]{1,400}(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]{1,3})?", re.ASCII)
_INTEGER = re.compile(r"[-+]?[0-9]{1,400}", re.ASCII)
_WRONG = {
    "string": "is no text; write it in quotes",
    "int": "is no int",
    "float": "is no float",
    "path": "is no path: that has letters, digits and . / _ - only",
    "list": "is no list",
    "bool": "is no bool",
}


def wrong_default(said: Parameter | Result) -> str:
    """Why a value is not of its type, for people; empty if it is, or if that is known only while a run goes on."""
    value = said.value if isinstance(said, Parameter) else said.default
    if value is None:
        return ""
    if isinstance(value, tuple) and has_template(value):
        return "has a template in a list, whose items must be plain values"
    return wrong_type(value, said.kind)


def wrong_type(value: Value, kind: ParameterKind | ResultKind | None) -> str:
    """As `wrong_default`."""
    if kind is None or is_of(value, str(kind)):
        return ""
    return f"must be {kind}, and {shown(str(value))} {_WRONG[str(kind)]}"


def is_of(value: Value, kind: str) -> bool:
    if isinstance(value, str):
        return _text_is_of(value, kind)
    if isinstance(value, tuple):
        return kind == "list"
    if isinstance(value, bool):
        return kind == "bool"
    return kind == "float" or (kind == "int" and isinstance(value, int))


def _text_is_of(text: str, kind: str) -> bool:
    if kind == "string":
        return True
    if kind == "path":
        return bool(_PATH.fullmatch(replaced(text, lambda _: "x")))
    return (
        bool(refs(text))
        or (kind == "float" and bool(_NUMBER.fullmatch(text)))
        or (kind == "int" and bool(_INTEGER.fullmatch(text)))
    )


def has_template(value: Value) -> bool:
    if isinstance(value, tuple):
        return any(has_template(item) for item in value)
    return isinstance(value, str) and bool(refs(value))
