"""Commands that look again and again."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from datetime import datetime

import click

from paddleflow.cli.output import Printer
from paddleflow.cli.verbs import F
from paddleflow.problems import Unavailable

PATIENCE = 60.0
"""Seconds for which a server that answered before may be away, as it is while another instance takes the lead."""
LONGEST = 86_400
"""Seconds between two looks at most."""


def live(function: F) -> F:
    """The options --watch, as `watching`, and --every."""
    watching = click.option("-w", "--watch", "watching", is_flag=True, help="Look again and again, until interrupted.")
    every = click.option(
        "--every",
        type=click.FloatRange(0.1, LONGEST),
        default=2.0,
        show_default=True,
        callback=_number,
        help="Seconds between two looks.",
    )
    return watching(every(function))


def repeat(look: Callable[[], None], watching: bool, every: float) -> None:
    """Looks once, or until interrupted; a server that answered before may then be away for a while."""
    look()
    seen = time.monotonic()
    while watching:
        time.sleep(every)
        try:
            look()
            seen = time.monotonic()
        except Unavailable as problem:
            if time.monotonic() - seen > PATIENCE:
                raise
            click.echo(f"{problem.message}; trying again", err=True)


def show_lines(lines: Iterable[str], printer: Printer, *, watching: bool) -> None:
    """What a look shows to people: in place of the one before on a terminal, else below it, under its time."""
    if watching and printer.terminal:
        # At once, so that nothing flickers.
        click.clear()
    if watching:
        printer.line(datetime.now().astimezone().strftime("%H:%M:%S"))
    printer.line("\n".join(lines))


def _number(context: click.Context, parameter: click.Parameter, value: float) -> float:
    # No range leaves it out, as it is neither below nor above anything.
    if math.isnan(value):
        raise click.BadParameter("nan is no number.", context, parameter)
    return value
