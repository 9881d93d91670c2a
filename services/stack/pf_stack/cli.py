"""The commands of `pf`."""

from __future__ import annotations

import asyncio
import os
import sys
from functools import partial
from pathlib import Path

import click
from rich.console import Console
from rich.filesize import decimal

from pf_stack.backup import back_up
from pf_stack.doctor import examine
from pf_stack.finding import Grade
from pf_stack.group import Group, data_option, output_option
from pf_stack.layout import Layout, layout_of
from pf_stack.logview import follow_all, log_files, tail
from pf_stack.start import start_in_background, start_in_foreground, wait_for_other
from pf_stack.state import running_state
from pf_stack.status import read_status
from pf_stack.stop import stop
from pf_stack.terminal import Progress, step
from pf_stack.views import findings_json, show_findings, show_status, status_json

WIDE = 200
"""Columns for tables that go elsewhere than to a terminal."""
NOT_READY = 3
"""Exit status of `pf status` when not everything serves; as `systemctl status` has it."""


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="paddleflow-server", message="%(version)s")
def pf() -> None:
    """Runs PaddleFlow on this machine: its services, with a Postgres and a Valkey of their own."""


@pf.command()
@data_option
@click.option("--foreground", is_flag=True, help="Stay, for containers and systemd; end with SIGTERM or Ctrl-C.")
def up(layout: Layout, foreground: bool) -> None:
    """Start everything; returns when all is ready. Does nothing if it runs already."""
    console = _console()
    if running_state(layout.state) is None:
        with Progress(console) as progress:
            start = start_in_foreground if foreground else start_in_background
            start(layout, progress)
        if foreground:
            return
    else:
        wait_for_other(layout)
        console.print("PaddleFlow is up already.")
    show_status(console, read_status(layout))


@pf.command()
@data_option
def down(layout: Layout) -> None:
    """Stop all services, in good order; returns when none is left. Jobs go on, and the next `pf up` finds them."""
    console = _console()
    with console.status("stopping"):
        stopped = stop(layout)
    console.print("PaddleFlow is down." if stopped else "Nothing was running.")


@pf.command()
@data_option
@output_option
def status(layout: Layout, output: str) -> None:
    """Show what runs, where it listens and what it costs. Exit status 3 if not everything serves."""
    found, console = read_status(layout), _console()
    if output == "json":
        click.echo(status_json(found))
    elif found.lines:
        show_status(console, found)
    else:
        console.print(f"Nothing runs on {layout.data}. Start it: {layout.command('up')}", markup=False)
    sys.exit(0 if found.is_ready else NOT_READY)


@pf.command()
@data_option
@output_option
def doctor(layout: Layout, output: str) -> None:
    """Look for what is missing or wrong, and say how to mend it. Exit status 1 if something must be mended."""
    findings = examine(layout)
    if output == "json":
        click.echo(findings_json(findings))
    else:
        show_findings(_console(), findings)
    sys.exit(any(finding.grade is Grade.BAD for finding in findings))


@pf.command()
@data_option
@click.argument("process", nargs=-1)
@click.option("-f", "--follow", is_flag=True, help="Go on with what is written, until Ctrl-C.")
@click.option("--tail", "count", type=click.IntRange(min=0), default=50, show_default=True, help="Lines to begin with.")
def logs(layout: Layout, process: tuple[str, ...], follow: bool, count: int) -> None:
    """Show the logs of these processes, or of all: supervisor, postgres, valkey and the services."""
    files = log_files(layout, process)

    def show(name: str, line: str) -> None:
        click.echo(line if len(files) == 1 else f"{name:<10} | {line}")

    for name, file in files.items():
        for line in tail(file, count):
            show(name, line)
    if follow:
        follow_all(files, show)


@pf.command()
@data_option
@click.argument("file", type=click.Path(path_type=Path))
def backup(layout: Layout, file: Path) -> None:
    """Write all data, as they are at one moment, and the keys to FILE. The stack goes on running."""
    console = _console()
    with console.status("backing up") as shown:
        size = back_up(layout, file, lambda written: shown.update(f"backing up, {decimal(written)} so far"))
    said = f"Backed up {layout.data} to {file} ({decimal(size)}). Keep it safe: it holds the keys."
    console.print(said, markup=False)


@pf.command("restore")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--data", "data", required=True, type=click.Path(path_type=Path), help="The new data folder.")
def restore_command(file: Path, data: Path) -> None:
    """Make a new data folder of a back-up. Whoever watched the old stack is told by the new one to start over."""
    # Only here is a client of Postgres needed; the other commands start without it.
    from pf_stack.restore import restore  # noqa: PLC0415

    console, layout = _console(), layout_of(data, os.environ)
    manifest = asyncio.run(restore(layout, file, partial(step, console)))
    origin = manifest.origin
    console.print(f"Restored what PaddleFlow {origin.paddleflow} held at {origin.created}.", markup=False)
    console.print(f"Start it: {layout.command('up')}", markup=False)


def _console() -> Console:
    """Plain lines of any length where nobody looks at them on a terminal."""
    console = Console(highlight=False, soft_wrap=True)
    if not console.is_terminal:
        console.width = WIDE
    return console
