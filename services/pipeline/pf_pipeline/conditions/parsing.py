"""Reads conditions."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from pf_pipeline.conditions.expression import Chain, Expression, Field, Literal, Node, Signed
from pf_pipeline.conditions.problems import ConditionSyntaxError
from pf_pipeline.conditions.regexes import check_pattern
from pf_pipeline.conditions.tokens import Kind, Token, hint, tokens

DEEPEST = 100
"""Brackets, and operators that bind more tightly than others around them, inside of one another."""

_LEVELS = (
    (",",),
    ("?", ":", "??"),
    ("||",),
    ("&&",),
    ("==", "!=", ">", ">=", "<", "<=", "=~", "!~", "in"),
    ("&", "|", "^"),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
    ("**",),
)
LEVEL: Mapping[str, int] = MappingProxyType({symbol: at for at, symbols in enumerate(_LEVELS) for symbol in symbols})
"""How tightly operators bind."""
MATCHING = ("=~", "!~")
_SUMS, _CHOICES = LEVEL["&"], LEVEL["?"]

MOST_PATTERNS = 20
MOST_WITH_PATTERNS = 2**13
"""Characters of a condition with patterns: to look for one takes time in proportion to both its and the text's size."""


def parse(text: str) -> Expression:
    """The condition that a text is. Raises ConditionSyntaxError.

    A text without any character is no condition, which is to say: true.
    """
    return _Parser(text).whole() if text else Expression(Literal(True))


class _Parser:
    """Walks over words."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._words = list(tokens(text))
        self._check_patterns()
        self._at = 0
        self._depth = 0

    def whole(self) -> Expression:
        root = self._chain(0)
        if self._next.kind is not Kind.END:
            raise self._unexpected()
        return Expression(root)

    @property
    def _next(self) -> Token:
        return self._words[self._at]

    def _chain(self, level: int) -> Node:
        """Whatever is joined by operators that bind at least so tightly."""
        self._depth += 1
        if self._depth > DEEPEST:
            raise ConditionSyntaxError(self._next.position, f"more than {DEEPEST} levels lie inside of one another")
        left = self._operand()
        while (found := self._operator_level()) >= level:
            left = Chain(left, self._rest(found))
        self._depth -= 1
        return left

    def _rest(self, level: int) -> tuple[tuple[str, Node], ...]:
        rest: list[tuple[str, Node]] = []
        while self._operator_level() == level:
            operator = self._taken()
            self._check_around(operator)
            rest.append((str(operator.value), self._chain(level + 1)))
        return tuple(rest)

    def _operator_level(self) -> int:
        """That of the next word; -1 if it is no operator."""
        return LEVEL[str(self._next.value)] if self._next.kind is Kind.OPERATOR else -1

    def _check_around(self, operator: Token) -> None:
        """Dates are there to be compared, and a pattern can be told to be wrong before it is used."""
        level, before = LEVEL[str(operator.value)], self._words[self._at - 2]
        if (self._next.kind is Kind.TIME and level >= _SUMS) or (before.kind is Kind.TIME and level == _CHOICES):
            raise ConditionSyntaxError(operator.position, f"{operator.value} cannot stand beside a date")
        if self._next.kind is Kind.QUOTED and operator.value in MATCHING:
            check_pattern(str(self._next.value), self._next.position)

    def _check_patterns(self) -> None:
        places = [word.position for word in self._words if word.kind is Kind.OPERATOR and word.value in MATCHING]
        if places and len(self._text) > MOST_WITH_PATTERNS:
            raise ConditionSyntaxError(
                places[0], f"with patterns, a condition has at most {MOST_WITH_PATTERNS} characters"
            )
        if len(places) > MOST_PATTERNS:
            raise ConditionSyntaxError(places[MOST_PATTERNS], f"a condition has at most {MOST_PATTERNS} patterns")

    def _operand(self) -> Node:
        token = self._next
        if token.kind in (Kind.OPERATOR, Kind.CLOSING, Kind.END):
            raise self._unexpected()
        self._at += 1
        match token.kind:
            case Kind.PREFIX:
                return self._signed(token)
            case Kind.OPENING:
                return self._bracketed(token)
            case Kind.FIELD:
                return self._field(token)
        return Literal(token.value)

    def _signed(self, sign: Token) -> Node:
        if self._next.kind in (Kind.QUOTED, Kind.TIME, Kind.PREFIX):
            raise ConditionSyntaxError(self._next.position, f"a number or a word belongs behind {sign.value}")
        return Signed(str(sign.value), self._operand())

    def _bracketed(self, opening: Token) -> Node:
        inner = self._chain(0)
        if self._next.kind is Kind.END:
            raise ConditionSyntaxError(opening.position, "the bracket is not closed")
        if self._next.kind is not Kind.CLOSING:
            raise self._unexpected()
        self._at += 1
        return inner

    def _field(self, field: Token) -> Node:
        if self._next.kind is Kind.OPENING:
            self._bracketed(self._taken())
        return Field(str(field.value))

    def _taken(self) -> Token:
        self._at += 1
        return self._words[self._at - 1]

    def _unexpected(self) -> ConditionSyntaxError:
        wanted = "a value" if self._before() in (Kind.OPERATOR, Kind.OPENING, Kind.PREFIX) else "an operator"
        found, advice = self._written(self._at), hint(self._written(self._at)) or hint(self._written(self._at - 1))
        shown = f"{found[:40]!r}" if found else "the end"
        return ConditionSyntaxError(self._next.position, f"{shown} stands where {wanted} belongs{advice}")

    def _before(self) -> Kind:
        return self._words[self._at - 1].kind if self._at else Kind.OPERATOR

    def _written(self, at: int) -> str:
        """A word as it stands in the text; empty if there is none."""
        if not 0 <= at < len(self._words) - 1:
            return ""
        return self._text[self._words[at].position : self._words[at + 1].position].strip()
