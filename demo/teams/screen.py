"""Where the demo is seen: pictures that change in place on a terminal, rows in a pipe."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Sequence

import click

from paddleflow.cli.output import Printer
from paddleflow.cli.table import Form, Table
from paddleflow.cli.tree import FINE, PLAIN, legend
from teams.bars import NARROW, Look, headings, picture, row
from teams.setting import Team

_WIDEST = 100


class Screen:
    """Prints what is said, and below it how busy the teams are."""

    def __init__(self, teams: Sequence[Team]) -> None:
        self._teams = teams
        self._printer = Printer.standard(Form.TABLE)
        self._brush = FINE if self._printer.drawing else PLAIN
        self._height = 0
        """Lines of the picture that stands below what was said; the next one takes its place."""

    @property
    def live(self) -> bool:
        """True if a picture can be drawn over."""
        return self._printer.terminal and os.environ.get("TERM", "dumb") != "dumb" and self._width > NARROW

    @property
    def _width(self) -> int:
        """One less than there is: some terminals wrap a full line."""
        return shutil.get_terminal_size().columns - 1

    def begin(self) -> None:
        """What stands above all that follows."""
        self.line(f"\n{legend(self._brush)}")
        if not self.live:
            self.line(f"\n{headings(self._teams)}")

    def say(self, text: str) -> None:
        """Words, below the last picture."""
        self._height = 0
        self.line("\n" + textwrap.fill(" ".join(text.split()), min(_WIDEST, self._width) if self.live else _WIDEST))

    def line(self, text: str = "") -> None:
        self._height = 0
        self._printer.line(text)

    def show(self, look: Look) -> None:
        """How it is now; in a pipe, where it would be a flood, nothing."""
        if self.live:
            self._draw([], look)

    def tell(self, look: Look, remark: str) -> None:
        """Something that was seen."""
        if self.live:
            self._draw(textwrap.wrap(f"{look.time:6.1f} s  {remark}", self._width, subsequent_indent=" " * 10), look)
        else:
            self.line(f"{row(look, self._teams)}  {remark}")

    def table(self, table: Table) -> None:
        self._height = 0
        self._printer.table(table)

    def promise(self, what: str, *, seen: bool) -> None:
        """Whether something was seen that should be."""
        self.line(f"{click.style('seen    ', fg='green') if seen else click.style('NOT SEEN', fg='red')}  {what}")

    def _draw(self, remarks: Sequence[str], look: Look) -> None:
        """The picture in place of the last, and remarks above it, in one write, so that nothing flickers."""
        drawn = picture(look, self._teams, self._width, self._brush)
        lines = [*remarks, *(drawn if self._printer.colours else map(click.unstyle, drawn))]
        upwards = f"\x1b[{self._height}A" if self._height else ""
        sys.stdout.write(upwards + "".join(f"{line}\x1b[K\n" for line in lines))
        sys.stdout.flush()
        self._height = len(drawn)
