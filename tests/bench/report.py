"""Figures as a table for people, and as a file for programs."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from support.figures import Figure
from support.service_process import ServiceProcess

Part = Callable[[], list[Figure]]
Parts = Mapping[str, Part]

FOLDER = Path(__file__).parents[2] / ".bench"
WIDTH = 140
"""Columns where nobody's terminal says how many there are."""


def run(name: str, title: str, parts: Parts, chosen: Sequence[str]) -> int:
    """Measures all parts, or those that are chosen; prints a table, and writes it to a file of this name."""
    unknown = sorted(set(chosen) - parts.keys())
    if unknown:
        sys.stderr.write(f"no such part: {', '.join(unknown)}; there are {', '.join(parts)}\n")
        return 2
    # What is measured is begun as users begin it.
    ServiceProcess.program = True
    figures = [figure for part in chosen or parts for figure in _measured(part, parts[part])]
    Console(width=None if sys.stdout.isatty() else WIDTH).print(table(title, figures))
    FOLDER.mkdir(exist_ok=True)
    rows = [figure.row() for figure in figures]
    (FOLDER / f"{name}.json").write_text(json.dumps(rows, indent=2, ensure_ascii=False) + "\n")
    return 0


def _measured(name: str, part: Part) -> list[Figure]:
    """The figures of a part; says meanwhile how long it took."""
    begun = time.monotonic()
    figures = part()
    sys.stderr.write(f"{name}: measured in {time.monotonic() - begun:.0f} s\n")
    return figures


def table(title: str, figures: Sequence[Figure]) -> Table:
    made = Table("what", title=title)
    for heading in ("value", "reference", "ratio"):
        made.add_column(heading, justify="right")
    made.add_column("target")
    made.add_column("verdict")
    for figure in figures:
        value, reference = f"{shown(figure.value)} {figure.unit}", shown(figure.reference)
        made.add_row(figure.what, value, reference, shown(figure.ratio), figure.target, figure.verdict)
    return made


def shown(number: float | None) -> str:
    """Three digits are more than a measurement has."""
    if number is None:
        return ""
    return f"{number:,.0f}" if abs(number) >= 100 else f"{number:.3g}"
