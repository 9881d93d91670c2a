"""Behaviour that all commands share."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from pf_kit.embedded.refusal import Refusal
from pf_stack.layout import Layout, default_data, layout_of
from pf_stack.machine import of_machine

F = TypeVar("F", bound=Callable[..., Any])


class Group(click.Group):
    """Commands that tell refusals as what is wrong and what to do about it."""

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - as click has it
        try:
            return super().invoke(ctx)
        except Refusal as refusal:
            raise Refused(refusal) from refusal
        except BrokenPipeError:
            # Nobody reads any more what we say, as in `pf logs | head`; click ends quietly.
            raise
        except OSError as problem:
            raise Refused(of_machine(problem)) from problem


class Refused(click.ClickException):
    """A refusal, as it is shown."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.what)
        self._remedy = refusal.remedy

    def show(self, file: Any = None) -> None:  # noqa: ANN401 - as click has it
        super().show(file)
        click.echo(f"  {self._remedy}", file=file, err=file is None)


def _layout(_ctx: click.Context, _parameter: click.Parameter, data: Path | None) -> Layout:
    return layout_of(data or default_data(os.environ), os.environ)


def data_option(command: F) -> F:
    """Adds the option that names the data folder; the command gets its layout."""
    return click.option(
        "--data",
        "layout",
        type=click.Path(path_type=Path),
        envvar="PF_DATA",
        metavar="DIR",
        callback=_layout,
        help="The data folder; any number of them live side by side. Environment: PF_DATA.",
    )(command)


def output_option(command: F) -> F:
    return click.option(
        "-o",
        "--output",
        type=click.Choice(["table", "json"]),
        default="table",
        show_default=True,
        help="How to show it.",
    )(command)
