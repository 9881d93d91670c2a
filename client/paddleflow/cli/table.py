"""Tables, and the forms in which they are printed."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from math import isfinite
from typing import TypeAlias

Cell: TypeAlias = "str | int | float | bool | Mapping[str, Cell] | Sequence[Cell] | None"


class Form(StrEnum):
    """How output is written."""

    TABLE = "table"
    JSON = "json"
    TEXT = "text"
    """One line a row, cells apart by tabs, no headings."""
    YAML = "yaml"

    @property
    def structured(self) -> bool:
        """True if programs read it: then nothing but the data goes to the output."""
        return self in (Form.JSON, Form.YAML)


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under headings."""

    headings: Sequence[str]
    rows: Sequence[Sequence[Cell]]

    def objects(self) -> list[dict[str, Cell]]:
        """One object for each row; its keys are the headings."""
        return [dict(zip(self.headings, row, strict=True)) for row in self.rows]


def as_json(table: Table) -> str:
    return json.dumps(table.objects(), indent=4, ensure_ascii=False)


def as_yaml(table: Table) -> str:
    import yaml  # noqa: PLC0415 -- few commands need it

    plain = json.loads(as_json(table))
    return str(yaml.safe_dump(plain, allow_unicode=True, sort_keys=False, explicit_start=True)).rstrip("\n")


def as_text(table: Table) -> str:
    return "\n".join("\t".join(_one_line(cell_text(cell)) for cell in row) for row in table.rows)


def as_grid(table: Table) -> str:
    """The table in a frame of ASCII."""
    lines = [_grid_lines(row) for row in ([*table.headings], *table.rows)]
    widths = [max(width(text) for row in lines for text in row[column]) for column in range(len(table.headings))]
    rules = ["+" + "+".join(mark * (each + 2) for each in widths) + "+" for mark in "-="]
    head, *body = ["\n".join(_drawn(row, widths)) for row in lines]
    return "\n".join([rules[0], head, rules[1], *(f"{row}\n{rules[0]}" for row in body)])


def cell_text(cell: Cell) -> str:
    """The cell as people read it."""
    match cell:
        case None:
            return ""
        case bool():
            return "yes" if cell else "no"
        case float() if isfinite(cell):
            # Never with an exponent: 7.9e-05 looks larger than it is.
            return format(Decimal(repr(cell)), "f")
        case str() | int() | float():
            return str(cell)
        case Mapping():
            nested = any(isinstance(value, Mapping | list | tuple) for value in cell.values())
            return json.dumps(cell, indent=4) if nested else ", ".join(f"{key}={cell_text(cell[key])}" for key in cell)
        case _:
            nested = any(isinstance(each, Mapping | list | tuple) for each in cell)
            return json.dumps(cell, indent=4) if nested else ", ".join(cell_text(each) for each in cell)


def width(text: str) -> int:
    """Columns that the text takes in a terminal."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return len(text) + wide - sum(unicodedata.combining(character) != 0 for character in text)


def _one_line(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n") if set(text) & set("\t\n") else text


def _grid_lines(row: Iterable[Cell]) -> list[list[str]]:
    return [cell_text(cell).splitlines() or [""] for cell in row]


def _drawn(row: Sequence[Sequence[str]], widths: Sequence[int]) -> list[str]:
    height = max(len(lines) for lines in row)
    padded = [[*lines, *[""] * (height - len(lines))] for lines in row]
    return [
        "| "
        + " | ".join(
            lines[line] + " " * (each - width(lines[line])) for lines, each in zip(padded, widths, strict=True)
        )
        + " |"
        for line in range(height)
    ]
