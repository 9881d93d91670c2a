"""How busy the teams are, as lines: a picture for a terminal, a row of a table for a pipe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import click

from paddleflow.cli.tree import PLAIN, Brush, bar
from paddleflow.models.admission import QueueLoad
from paddleflow.quantity import CPU
from teams.setting import CORE, CORES, Team

NARROW = 40
"""Columns that a picture needs."""
_SHORTEST, _LONGEST = 10, 60
_SMALL = 8
_CLOCK = 6


@dataclass(frozen=True, slots=True)
class Look:
    """What the service said at one moment."""

    time: float
    """Seconds since the demo began."""
    loads: Mapping[str, QueueLoad]
    admitted: Mapping[str, int]
    """How often a workload of the queue was admitted so far, as the watch told."""

    def load(self, queue: str) -> QueueLoad:
        return self.loads.get(queue, QueueLoad(queue))

    def used(self, queue: str) -> int:
        """Cores."""
        return self.load(queue).used.get(CPU, 0) // CORE

    def leaving(self, queue: str) -> int:
        """Cores of those used whose workloads were told to give them back."""
        return self.load(queue).leaving.get(CPU, 0) // CORE

    def staying(self, queue: str) -> int:
        return self.used(queue) - self.leaving(queue)

    def kept(self, queue: str) -> int:
        """Cores that are kept for workloads about to start."""
        return self.load(queue).kept.get(CPU, 0) // CORE


def picture(look: Look, teams: Sequence[Team], width: int, brush: Brush) -> list[str]:
    """A line for each team below one of headings, none wider than so many columns, if that are at least `NARROW`."""
    columns = _columns(look, teams)
    label = max(len(team.name) for team in teams) + 2
    while sum(len(column[0]) for column in columns) + label + _SHORTEST + 2 > width:
        columns.pop()
    length = min(_LONGEST, width - label - 2 - sum(len(column[0]) for column in columns))
    lines = [f"{look.time:{_CLOCK}.1f} s".ljust(label + length + 2) + "".join(column[0] for column in columns)]
    for row, team in enumerate(teams, start=1):
        drawn = bar(look.used(team.name), team.guarantee, CORES, brush, length)
        name = click.style(team.name, bold=True) + " " * (label - len(team.name))
        lines.append(f"{name}[{drawn}]{''.join(column[row] for column in columns)}")
    return lines


def headings(teams: Sequence[Team]) -> str:
    """What stands above the rows."""
    return f"{'':{_CLOCK}}    " + "  ".join(f"{team.name:<{_SMALL + 6}}" for team in teams) + "  waiting"


def row(look: Look, teams: Sequence[Team]) -> str:
    """All teams in one line, in ASCII."""
    cells = (
        f"[{click.unstyle(bar(look.used(team.name), team.guarantee, CORES, PLAIN, _SMALL))}] {look.used(team.name):>3}"
        for team in teams
    )
    waiting = sum(look.load(team.name).waiting for team in teams)
    return f"{look.time:{_CLOCK}.1f} s  {'  '.join(cells)}  {waiting:>7,}"


def _columns(look: Look, teams: Sequence[Team]) -> list[list[str]]:
    """The numbers, the most telling first; each with its heading, and as wide as that."""
    values = {
        "  used": [look.used(team.name) for team in teams],
        "  borrowed": [max(0, look.used(team.name) - team.guarantee) for team in teams],
        "  waiting": [look.load(team.name).waiting for team in teams],
        "  admitted": [look.admitted.get(team.name, 0) for team in teams],
        "  leaving": [look.leaving(team.name) for team in teams],
    }
    return [[heading, *(f"{value:>{len(heading)},}" for value in column)] for heading, column in values.items()]
