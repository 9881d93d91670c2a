"""Where output goes, and how it looks there."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import click

from paddleflow.cli.table import Form, Table, as_grid, as_json, as_text, as_yaml


@dataclass(frozen=True, slots=True)
class Printer:
    """Prints tables and sentences in the form that was asked for.

    With json and yaml the output holds data only; sentences go to the error output.
    """

    form: Form
    terminal: bool
    """True if a person looks at the output."""

    @classmethod
    def standard(cls, form: Form) -> Printer:
        return cls(form, terminal=sys.stdout.isatty())

    @property
    def colours(self) -> bool:
        return self.terminal and not os.environ.get("NO_COLOR")

    @property
    def drawing(self) -> bool:
        """True if characters for drawing may be used, not only ASCII."""
        return self.terminal and (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"

    def line(self, text: str = "") -> None:
        click.echo(text, color=self.colours)

    def table(self, table: Table) -> None:
        match self.form:
            case Form.JSON:
                self.line(as_json(table))
            case Form.YAML:
                self.line(as_yaml(table))
            case Form.TEXT:
                self.line(as_text(table))
            case Form.TABLE if self.terminal:
                from paddleflow.cli.terminal import print_table  # noqa: PLC0415 -- loads rich

                print_table(table, colours=self.colours)
            case Form.TABLE:
                self.line(as_grid(table))

    def details(self, title: str, table: Table) -> None:
        """A table whose cells are too rich for a frame: always JSON, but for yaml."""
        if self.form.structured:
            self.table(table)
        else:
            self.line(f"{title}:")
            self.line(as_json(table))

    def list(self, table: Table, kind: str, marker: str) -> None:
        """A page of a list, and the marker of the next page.

        The marker is the last line; with json and yaml it goes to the error output, and only if there is a next page.
        """
        if table.rows or self.form.structured:
            self.table(table)
        else:
            click.echo(f"no {kind} found", err=self.form is Form.TEXT)
        if not self.form.structured:
            self.line(f"marker: {marker or None}")
        elif marker:
            click.echo(f"marker: {marker}", err=True)

    def success(self, sentence: str, tables: Sequence[Table] = ()) -> None:
        """A change that was made; programs get the thing changed instead of the sentence."""
        click.echo(sentence, err=self.form.structured)
        if self.form.structured:
            for table in tables:
                self.table(table)
