"""Values as texts, for commands, variables and conditions."""

from __future__ import annotations

from decimal import Decimal

from pf_pipeline.documents.model import Value


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
