"""Writes YAML as a person would, so that it is read as the same again, by this and by any other reader.

Others take `yes`, `010` and `1:30` for something else than texts, so such words get quotes. No line is broken: what was
one stays one. PyYAML takes ten times as long.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

_WIDTH = 100
"""Characters of a list in one line."""
# What begins with a letter, `_`, `/` or `./` and goes on without anything that could end it or make it a mapping.
_PLAIN = re.compile(r"(?:[A-Za-z_/]|\./)(?:[^\s:#]| (?=[^#\s])|:(?=[^\s]))*", re.ASCII)
_FLOW = re.compile(r"(?:[A-Za-z_/]|\./)[A-Za-z0-9_./@=+-]*", re.ASCII)
_WORDS = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null", "none"])
"""In small letters; those that YAML 1.1 has as well."""
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def to_yaml(value: Mapping[str, object]) -> str:
    """The text of mappings, sequences, texts, numbers, booleans and None, in block style."""
    return "".join(f"{line}\n" for line in _mapping(value, "")) or "{}\n"


def _mapping(value: Mapping[str, object], indent: str) -> Iterator[str]:
    for key, each in value.items():
        yield from _entry(f"{indent}{_word(key)}:", each, indent)


def _entry(head: str, value: object, indent: str) -> Iterator[str]:
    """A value behind what stands before it: in the same line, or in lines of its own."""
    below = f"{indent}  "
    if isinstance(value, Mapping) and value:
        yield head
        yield from _mapping(value, below)
    elif isinstance(value, str) and _is_block(value):
        yield f"{head} {'|' if value.endswith(chr(10)) else '|-'}"
        yield from (f"{below}{line}" if line else "" for line in value.removesuffix("\n").split("\n"))
    elif _is_sequence(value) and _flow(value) is None:
        yield head
        yield from _sequence(value, below)
    else:
        yield f"{head} {_inline(value)}"


def _sequence(value: object, indent: str) -> Iterator[str]:
    for each in value if isinstance(value, Sequence) else ():
        if isinstance(each, Mapping) and each:
            lines = _mapping(each, f"{indent}  ")
            yield f"{indent}- {next(lines).lstrip(' ')}"
            yield from lines
        else:
            yield from _entry(f"{indent}-", each, indent)


def _is_sequence(value: object) -> bool:
    return isinstance(value, list | tuple)


def _inline(value: object) -> str:
    flow = _flow(value)
    return _scalar(value) if flow is None else flow


def _flow(value: object) -> str | None:
    """A list in one line, if it is short and has no mappings."""
    if isinstance(value, Mapping) and not value:
        return "{}"
    if not isinstance(value, list | tuple):
        return None
    parts = list(_flow_parts(value))
    if None in parts or sum(len(part or "") + 2 for part in parts) > _WIDTH:
        return None if value else "[]"
    return f"[{', '.join(part or '' for part in parts)}]"


def _flow_parts(value: Iterable[object]) -> Iterator[str | None]:
    for each in value:
        if isinstance(each, str):
            yield each if _FLOW.fullmatch(each) and each.lower() not in _WORDS else _quoted(each)
        elif isinstance(each, list | tuple | Mapping):
            yield _flow(each)
        else:
            yield _scalar(each)


def _scalar(value: object) -> str:
    match value:
        case str():
            return _word(value)
        case bool():
            return "true" if value else "false"
        case None:
            return "null"
        case float():
            text = repr(value)
            # Other readers take a number without a point for a text.
            return text.replace("e", ".0e") if "e" in text and "." not in text else text
        case _:
            return str(value)


def _word(text: str) -> str:
    return text if _PLAIN.fullmatch(text) and text.isprintable() and text.lower() not in _WORDS else _quoted(text)


def _is_block(text: str) -> bool:
    """True of lines that stand as they are: none blank but with spaces, and nothing unusual at the ends."""
    if "\n" not in text or text[0] in " \n\t" or text.endswith("\n\n"):
        return False
    return all(line.replace("\t", "").isprintable() and (not line or line.strip()) for line in text.split("\n"))


def _quoted(text: str) -> str:
    if text.isprintable() and ('"' in text or "\\" in text):
        return "'" + text.replace("'", "''") + "'"
    return '"' + "".join(map(_escaped, text)) + '"' if not text.isprintable() else f'"{text}"'


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
