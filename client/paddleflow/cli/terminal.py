"""Tables on a terminal."""

from __future__ import annotations

import re
from datetime import datetime

from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from paddleflow.cli.table import Cell, Table, cell_text, width

# A moment in the time of this machine: people can do without its offset, and a line may end before the hour.
_STAMP = re.compile(r"\A(\d{4})-(\d\d-\d\d)T(\d\d:\d\d:\d\d)[+-]\d\d:\d\d\Z", re.ASCII)

_COPIED = ("id", "job id")
"""Headings of what people copy, which is of no use in two pieces."""

# Words that say whether all is well, wherever they stand in a table.
_COLOURS = {
    "open": "green",
    "online": "green",
    "held": "yellow",
    "draining": "yellow",
    "closing": "yellow",
    "closed": "red",
    "offline": "red",
}


def print_table(table: Table, *, colours: bool) -> None:
    console, year = Console(no_color=not colours, highlight=False), str(datetime.now().astimezone().year)
    drawn = RichTable(box=box.ROUNDED, header_style="bold")
    for number, heading in enumerate(table.headings):
        widest = max((width(cell_text(row[number])) for row in table.rows), default=0)
        drawn.add_column(heading, overflow="fold", no_wrap=heading in _COPIED and widest * 3 <= console.width)
    for row in table.rows:
        drawn.add_row(*(_styled(cell, year) for cell in row))
    console.print(drawn)


def _styled(cell: Cell, year: str) -> Text:
    text = cell_text(cell)
    return Text(_STAMP.sub(lambda stamp: _short(*stamp.groups(), this=year), text), style=_COLOURS.get(text, ""))


def _short(year: str, day: str, clock: str, *, this: str) -> str:
    return f"{day} {clock}" if year == this else f"{year}-{day} {clock}"
