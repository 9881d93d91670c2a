"""What operators make of values."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import partial
from types import MappingProxyType
from typing import Any

from pf_pipeline.conditions.expression import Value
from pf_pipeline.conditions.problems import ConditionError
from pf_pipeline.conditions.regexes import matches

_BITS = 64
_LARGEST = float(2 ** (_BITS - 1))
_PLAIN_BELOW = 1e21
"""Larger numbers become text with an exponent."""

Binary = Callable[[Value, Value], Value]


def same(left: Value, right: Value) -> bool:
    """Values of different kinds are never the same: neither ``1`` and ``true`` nor ``1`` and ``'1'``."""
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(map(same, left, right))
    return type(left) is type(right) and left == right


def text_of(value: Value) -> str:
    """A value as it is joined to a text."""
    match value:
        case None:
            return "<nil>"
        case bool():
            return "true" if value else "false"
        case float():
            return _number_text(value)
        case tuple():
            return f"[{' '.join(map(text_of, value))}]"
    return value


def described(value: Value) -> str:
    """A value as a message has it."""
    match value:
        case str():
            return f"the text {value[:40]!r}"
        case bool():
            return text_of(value)
        case float():
            return f"the number {text_of(value)}"
        case None:
            return "nothing"
    return "a list"


def signed(sign: str, value: Value) -> Value:
    """A value with a sign before it."""
    if sign == "!":
        return not truth(value, sign)
    number = _number(value, sign)
    return -number if sign == "-" else float(~_integer(number, sign))


def truth(value: Value, symbol: str) -> bool:
    if not isinstance(value, bool):
        raise ConditionError(f"{described(value)} is neither true nor false, and cannot be used with {symbol}")
    return value


def _number_text(number: float) -> str:
    if not math.isfinite(number):
        return "NaN" if math.isnan(number) else f"{'-' if number < 0 else '+'}Inf"
    shortest = Decimal(repr(number)).normalize()
    if number == 0 or 1e-4 <= abs(number) < _PLAIN_BELOW:
        return f"{shortest:f}"
    digits, _, exponent = f"{shortest:e}".partition("e")
    return f"{digits}e{int(exponent):+03d}"


def _number(value: Value, symbol: str) -> float:
    if not isinstance(value, float):
        raise ConditionError(f"{described(value)} is no number, and cannot be used with {symbol}")
    return value


def _integer(number: float, symbol: str) -> int:
    if not -_LARGEST <= number < _LARGEST:
        raise ConditionError(f"{text_of(number)} has more than {_BITS} bits, and cannot be used with {symbol}")
    return int(number)


def _sum(left: Value, right: Value) -> Value:
    if isinstance(left, str) or isinstance(right, str):
        return text_of(left) + text_of(right)
    return _number(left, "+") + _number(right, "+")


def _reckoned(symbol: str, work: Callable[[float, float], float], left: Value, right: Value) -> Value:
    return work(_number(left, symbol), _number(right, symbol))


def _quotient(left: float, right: float) -> float:
    if right:
        return left / right
    return math.copysign(math.inf, left) * math.copysign(1, right) if left else math.nan


def _remainder(left: float, right: float) -> float:
    return math.fmod(left, right) if right and math.isfinite(left) else math.nan


def _power(base: float, exponent: float) -> float:
    odd = exponent % 2 == 1
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return -math.inf if base < 0 and odd else math.inf
    except ValueError:
        # Zero to a negative power, or the root of a negative number.
        return math.nan if base else math.copysign(math.inf, base if odd else 1)


def _shifted(symbol: str, left: float, right: float) -> float:
    number, places = _integer(left, symbol), _integer(right, symbol)
    if number < 0 or places < 0:
        raise ConditionError(f"negative numbers cannot be used with {symbol}")
    if places >= _BITS:
        return 0.0
    return float(number >> places if symbol == ">>" else number << places & 2**_BITS - 1)


def _of_bits(symbol: str, left: float, right: float) -> float:
    first, second = _integer(left, symbol), _integer(right, symbol)
    match symbol:
        case "&":
            return float(first & second)
        case "|":
            return float(first | second)
    return float(first ^ second)


def _in_order(compare: Callable[[Any, Any], bool], left: Value, right: Value) -> Value:
    if isinstance(left, bool) or not isinstance(left, float | str) or type(left) is not type(right):
        raise ConditionError(f"{described(left)} and {described(right)} have no order: put both in quotes, or none")
    return compare(left, right)


def _found(symbol: str, left: Value, right: Value) -> bool:
    if not isinstance(left, str) or not isinstance(right, str):
        raise ConditionError(f"{described(left)} cannot be matched with {symbol} against {described(right)}")
    return matches(right, left)


def _member(left: Value, right: Value) -> Value:
    if not isinstance(right, tuple):
        raise ConditionError(f"{described(right)} is no list; write (a, b) behind in")
    return any(same(left, item) for item in right)


def _listed(left: Value, right: Value) -> Value:
    return (*left, right) if isinstance(left, tuple) else (left, right)


BINARY: Mapping[str, Binary] = MappingProxyType(
    {
        ",": _listed,
        "==": same,
        "!=": lambda left, right: not same(left, right),
        ">": partial(_in_order, operator.gt),
        ">=": partial(_in_order, operator.ge),
        "<": partial(_in_order, operator.lt),
        "<=": partial(_in_order, operator.le),
        "=~": partial(_found, "=~"),
        "!~": lambda left, right: not _found("!~", left, right),
        "in": _member,
        "&": partial(_reckoned, "&", partial(_of_bits, "&")),
        "|": partial(_reckoned, "|", partial(_of_bits, "|")),
        "^": partial(_reckoned, "^", partial(_of_bits, "^")),
        "<<": partial(_reckoned, "<<", partial(_shifted, "<<")),
        ">>": partial(_reckoned, ">>", partial(_shifted, ">>")),
        "+": _sum,
        "-": partial(_reckoned, "-", operator.sub),
        "*": partial(_reckoned, "*", operator.mul),
        "/": partial(_reckoned, "/", _quotient),
        "%": partial(_reckoned, "%", _remainder),
        "**": partial(_reckoned, "**", _power),
    }
)
"""Those that need both of their sides."""
