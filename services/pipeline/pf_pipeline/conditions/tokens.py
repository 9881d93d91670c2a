"""The words of which conditions consist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from pf_pipeline.conditions.problems import ConditionSyntaxError
from pf_pipeline.conditions.times import seconds_of

MOST_CHARACTERS = 2**16
MOST_TOKENS = 10_000


class Kind(StrEnum):
    """What a word is."""

    NUMBER = "number"
    BOOLEAN = "boolean"
    WORD = "word"
    """Letters, digits and `_` without quotes, or anything in square brackets: text."""
    FIELD = "field"
    """A word with a dot in it: the field of something that conditions do not have."""
    QUOTED = "quoted"
    TIME = "time"
    """A quoted text that is a date."""
    PREFIX = "prefix"
    OPERATOR = "operator"
    OPENING = "opening"
    CLOSING = "closing"
    END = "end"


@dataclass(frozen=True, slots=True)
class Token:
    """One word."""

    kind: Kind
    value: str | float | bool
    position: int


_COMPARING = ("==", "!=", ">", ">=", "<", "<=", "=~", "!~", "in")
_RECKONING = ("+", "-", "*", "/", "%", "**", "&", "|", "^", "<<", ">>")
_JOINING = ("&&", "||", "?", ":", "??", ",")
OPERATORS = frozenset((*_COMPARING, *_RECKONING, *_JOINING))
PREFIXES = frozenset("-!~")
BEFORE_OPERANDS = frozenset({Kind.OPERATOR, Kind.OPENING})
"""Behind these a sign is a prefix; behind all others it is an operator."""

_SPACE = frozenset("\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000") | {
    chr(at) for at in range(0x2000, 0x200B)
}
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_QUOTED = re.compile(r"""['"]([^'"\\]*(?:\\.[^'"\\]*)*)['"]""", re.DOTALL)
_BRACKETED = re.compile(r"\[([^\]\\]*(?:\\.[^\]\\]*)*)\]", re.DOTALL)
_NUMBER = re.compile(r"0x[0-9A-Fa-f]+|[\d.]+", re.ASCII)
_DECIMAL = re.compile(r"\d+\.?\d*|\.\d+", re.ASCII)
_BITS = 64
LARGEST = float("inf")
_HINTS = {
    "=": "write == to compare",
    "and": "write && for and",
    "or": "write || for or",
    "not": "write ! for not",
}


def tokens(text: str) -> Iterator[Token]:
    """The words of a text, and the end. Raises ConditionSyntaxError."""
    _check_size(text)
    at, last = _skip_space(text, 0), Kind.OPERATOR
    for _ in range(MOST_TOKENS):
        if at == len(text):
            yield Token(Kind.END, "", at)
            return
        token, at = _token(text, at, last)
        yield token
        at, last = _skip_space(text, at), token.kind
    raise ConditionSyntaxError(at, f"there are more than {MOST_TOKENS} words; make the condition shorter")


def hint(text: str) -> str:
    """What to write in the place of something that is often written by mistake; empty if nothing is known."""
    return f"; {_HINTS[text]}" if text in _HINTS else ""


def _check_size(text: str) -> None:
    if len(text) > MOST_CHARACTERS:
        raise ConditionSyntaxError(MOST_CHARACTERS, f"the condition has more than {MOST_CHARACTERS} characters")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ConditionSyntaxError(error.start, "there is half a character; write the text in UTF-8") from None


def _skip_space(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def _token(text: str, at: int, last: Kind) -> tuple[Token, int]:
    """The word that begins at a place, and where it ends."""
    match text[at]:
        case "'" | '"':
            return _quoted(text, at)
        case "[":
            return _bracketed(text, at)
        case "(":
            return Token(Kind.OPENING, "(", at), at + 1
        case ")":
            return Token(Kind.CLOSING, ")", at), at + 1
        case ",":
            return Token(Kind.OPERATOR, ",", at), at + 1
        case first if first == "." or first.isdecimal():
            return _number(text, at)
        case first if first.isalpha():
            return _word(text, at)
    return _symbol(text, at, last)


def _quoted(text: str, at: int) -> tuple[Token, int]:
    found = _QUOTED.match(text, at)
    if not found:
        raise ConditionSyntaxError(at, "the quote is not closed; write \\' for a quote inside of a text")
    value = _ESCAPE.sub(r"\1", found[1])
    seconds = seconds_of(value)
    token = Token(Kind.QUOTED, value, at) if seconds is None else Token(Kind.TIME, seconds, at)
    return token, found.end()


def _bracketed(text: str, at: int) -> tuple[Token, int]:
    found = _BRACKETED.match(text, at)
    if not found:
        raise ConditionSyntaxError(at, "the square bracket is not closed; put texts with brackets in quotes")
    return Token(Kind.WORD, _ESCAPE.sub(r"\1", found[1]), at), found.end()


def _number(text: str, at: int) -> tuple[Token, int]:
    found = _NUMBER.match(text, at)
    written = found[0] if found else text[at]
    value = _value(written)
    if value is None:
        raise ConditionSyntaxError(at, f"{written[:40]!r} is no number; put it in quotes if it is a text")
    if value >= LARGEST:
        raise ConditionSyntaxError(at, f"{written[:40]!r} is too large for a number; put it in quotes if it is a text")
    return Token(Kind.NUMBER, value, at), at + len(written)


def _value(written: str) -> float | None:
    if written.startswith("0x"):
        number = int(written[2:], 16) if len(written) > 2 else -1
        return None if number < 0 else float(number) if number < 2**_BITS else LARGEST
    return float(written) if _DECIMAL.fullmatch(written) else None


def _word(text: str, at: int) -> tuple[Token, int]:
    end = _end_of_word(text, at)
    value = _ESCAPE.sub(r"\1", text[at:end])
    match value:
        case "true" | "false":
            return Token(Kind.BOOLEAN, value == "true", at), end
        case "in" | "IN":
            return Token(Kind.OPERATOR, "in", at), end
        case _ if "." in value:
            return _field(value, at), end
    return Token(Kind.WORD, value, at), end


def _end_of_word(text: str, at: int) -> int:
    while at < len(text):
        if text[at] == "\\":
            # Whatever follows belongs to the word.
            if at + 1 == len(text):
                raise ConditionSyntaxError(at, "nothing follows the backslash")
            at += 2
        elif text[at] in "_." or text[at].isalpha() or text[at].isdecimal():
            at += 1
        else:
            break
    return at


def _field(value: str, at: int) -> Token:
    """Only what might be a field of something: others are most likely texts that lack quotes."""
    _, *fields = value.split(".")
    if value.endswith(".") or any(field[:1] != field[:1].upper() for field in fields):
        raise ConditionSyntaxError(at, f"{value[:40]!r} has a dot; put it in quotes")
    return Token(Kind.FIELD, value, at)


def _symbol(text: str, at: int, last: Kind) -> tuple[Token, int]:
    end = _end_of_symbol(text, at)
    symbol = text[at:end]
    if last in BEFORE_OPERANDS and symbol in PREFIXES:
        return Token(Kind.PREFIX, symbol, at), end
    if symbol in OPERATORS:
        return Token(Kind.OPERATOR, symbol, at), end
    raise ConditionSyntaxError(at, f"{symbol[:40]!r} is no operator; {_advice(symbol)}")


def _end_of_symbol(text: str, at: int) -> int:
    while at < len(text) and text[at] not in _SPACE and not _begins_other(text[at]):
        at += 1
    return at


def _begins_other(character: str) -> bool:
    return character in "()[]'\"" or character.isalpha() or character.isdecimal()


def _advice(symbol: str) -> str:
    if symbol in _HINTS:
        return _HINTS[symbol]
    if any(symbol.startswith(known) and symbol[len(known) :] in PREFIXES for known in OPERATORS):
        return f"put a space before {symbol[-1]}"
    return "put texts with such characters in quotes"
