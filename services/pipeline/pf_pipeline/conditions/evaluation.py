"""What conditions yield."""

from __future__ import annotations

from pf_pipeline.conditions.expression import Chain, Expression, Field, Literal, Node, Signed, Value
from pf_pipeline.conditions.operators import BINARY, described, signed, truth
from pf_pipeline.conditions.problems import ConditionError


def evaluate(expression: Expression) -> bool:
    """Whether a condition holds. Raises ConditionError if it is neither true nor false."""
    value = _value(expression.root)
    if not isinstance(value, bool):
        raise ConditionError(
            f"the condition yields {described(value)}, and not true or false; compare it with something"
        )
    return value


def _value(node: Node) -> Value:
    match node:
        case Literal(value):
            return value
        case Field(name):
            raise ConditionError(f"{name[:40]!r} is the field of something that is not there; put it in quotes")
        case Signed(sign, operand):
            return signed(sign, _value(operand))
        case Chain(first, rest):
            value = _value(first)
            for symbol, operand in rest:
                value = _applied(symbol, value, operand)
            return value


def _applied(symbol: str, left: Value, operand: Node) -> Value:
    """The right side is left alone where the left side has decided."""
    match symbol:
        case "&&" | "||":
            return left if left is (symbol == "||") else _both(symbol, left, operand)
        case "?":
            return None if left is False else _chosen(left, operand)
        case ":" | "??":
            return _value(operand) if left is None else left
    return BINARY[symbol](left, _value(operand))


def _both(symbol: str, left: Value, operand: Node) -> Value:
    """The left side has not decided, and so the right side does."""
    truth(left, symbol)
    return truth(_value(operand), symbol)


def _chosen(left: Value, operand: Node) -> Value:
    truth(left, "?")
    return _value(operand)
