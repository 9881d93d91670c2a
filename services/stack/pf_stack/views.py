"""How the commands show what they found."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pf_stack.finding import Finding, Grade
from pf_stack.process import Phase
from pf_stack.status import Line, Status

PHASE_COLOURS = {Phase.READY: "green", Phase.WAITING: "red"}
GRADE_MARKS = {Grade.GOOD: "[green]✓[/]", Grade.NOTE: "[yellow]![/]", Grade.BAD: "[red]✗[/]"}
MEGABYTE = 1_000_000


def show_status(console: Console, status: Status) -> None:
    """A table of what runs, and below it why something does not."""
    console.print(_table(status))
    for line in status.lines:
        if line.phase is Phase.WAITING:
            console.print(f"{line.name} is started again and again: {line.last_exit}", markup=False)


def _table(status: Status) -> Table:
    table = Table(box=None, pad_edge=False, caption_justify="left", caption=_total(status))
    table.add_column("PROCESS")
    table.add_column("STATE")
    for heading in ("PID", "UPTIME", "RESTARTS", "PSS MB", "RSS MB", "CPU %"):
        table.add_column(heading, justify="right")
    table.add_column("ENDPOINTS", overflow="fold")
    for line in status.lines:
        table.add_row(*_cells(line))
    return table


def status_json(status: Status) -> str:
    """For programs."""
    content = {
        "data": str(status.layout.data),
        "ready": status.is_ready,
        "pss_bytes": status.total.pss,
        "rss_bytes": status.total.rss,
        "cpu_seconds": status.total.cpu_seconds,
        "processes": [_line_content(line) for line in status.lines],
    }
    return json.dumps(content, indent=2)


def _line_content(line: Line) -> dict[str, object]:
    endpoint = line.endpoint
    return {
        "name": line.name,
        "state": line.phase,
        "pid": line.pid,
        "seconds": round(line.seconds, 3),
        "restarts": line.restarts,
        "last_exit": line.last_exit,
        "processes": line.footprint.processes,
        "pss_bytes": line.footprint.pss,
        "rss_bytes": line.footprint.rss,
        "cpu_seconds": line.footprint.cpu_seconds,
        "cpu_percent": round(line.cpu_percent, 2),
        "address": endpoint.address if endpoint is not None else None,
        "socket": str(endpoint.socket) if endpoint is not None else None,
        "admin_address": endpoint.admin_address if endpoint is not None else None,
    }


def _cells(line: Line) -> Sequence[str]:
    colour = PHASE_COLOURS.get(line.phase, "yellow")
    return (
        line.name,
        f"[{colour}]{line.phase}[/]",
        str(line.pid or "-"),
        duration(line.seconds),
        f"{line.restarts}" + (f" ({escape(line.last_exit)})" if _explains_restarts(line) else ""),
        f"{line.footprint.pss / MEGABYTE:.1f}",
        f"{line.footprint.rss / MEGABYTE:.1f}",
        f"{line.cpu_percent:.1f}",
        f"{line.endpoint.address}  metrics {line.endpoint.admin_address}" if line.endpoint is not None else "",
    )


def _explains_restarts(line: Line) -> bool:
    """What waits has its reason below the table, where there is room for it."""
    return line.restarts > 0 and line.phase is not Phase.WAITING


def _total(status: Status) -> str:
    total = status.total
    return (
        f"{total.processes} processes, {total.pss / MEGABYTE:.0f} MB of memory. Data: {escape(str(status.layout.data))}"
    )


def duration(seconds: float) -> str:
    """A time in its two largest units, for example `3h12m`."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    match days, hours, minutes:
        case 0, 0, 0:
            return f"{rest}s"
        case 0, 0, _:
            return f"{minutes}m{rest:02}s"
        case 0, _, _:
            return f"{hours}h{minutes:02}m"
        case _:
            return f"{days}d{hours:02}h"


def show_findings(console: Console, findings: Sequence[Finding]) -> None:
    for finding in findings:
        console.print(f"{GRADE_MARKS[finding.grade]} {escape(finding.what)}")
        if finding.remedy:
            console.print(f"    [bold]{escape(finding.remedy)}[/]")


def findings_json(findings: Sequence[Finding]) -> str:
    """For programs."""
    return json.dumps([asdict(finding) for finding in findings], indent=2)
