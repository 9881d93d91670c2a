"""What the kit costs on this machine: prints a table, and writes it to .bench/kit.json.

`make bench-kit` runs all parts; names of parts as arguments run only these.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench import bench_bus, bench_kit_boundary, bench_kit_queue, bench_kit_stack, bench_kit_watch
from support.figures import Figure

PARTS: Mapping[str, Callable[[], list[Figure]]] = {
    "boundary": bench_kit_boundary.figures,
    "queue": bench_kit_queue.figures,
    "watch": bench_kit_watch.figures,
    "bus": bench_bus.figures,
    "stack": bench_kit_stack.figures,
}
RESULT = Path(__file__).parents[2] / ".bench" / "kit.json"


def main(chosen: Sequence[str]) -> int:
    unknown = sorted(set(chosen) - PARTS.keys())
    if unknown:
        sys.stderr.write(f"no such part: {', '.join(unknown)}; there are {', '.join(PARTS)}\n")
        return 2
    figures = [figure for name in chosen or PARTS for figure in PARTS[name]()]
    Console().print(table(figures))
    write(figures)
    return 0


def table(figures: Sequence[Figure]) -> Table:
    made = Table("what", title="The kit on this machine")
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


def write(figures: Sequence[Figure]) -> None:
    RESULT.parent.mkdir(exist_ok=True)
    rows = [figure.row() for figure in figures]
    RESULT.write_text(json.dumps(rows, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
