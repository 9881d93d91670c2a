"""Tables on a terminal."""

from __future__ import annotations

import re

from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from paddleflow.cli.table import Cell, Table, cell_text

# A moment in the time of this machine: people can do without its offset, and a line may end before the hour.
_STAMP = re.compile(r"\A(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)[+-]\d\d:\d\d\Z", re.ASCII)

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
    drawn = RichTable(box=box.ROUNDED, header_style="bold")
    for heading in table.headings:
        drawn.add_column(heading, overflow="fold")
    for row in table.rows:
        drawn.add_row(*(_styled(cell) for cell in row))
    Console(no_color=not colours, highlight=False).print(drawn)


def _styled(cell: Cell) -> Text:
    text = cell_text(cell)
    return Text(_STAMP.sub(r"\1 \2", text), style=_COLOURS.get(text, ""))
