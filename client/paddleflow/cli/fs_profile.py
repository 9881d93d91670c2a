"""``paddleflow fs profile``: who asks a mount what, and what takes long."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TypeVar

import click

from paddleflow.accesses import Place, Profile, Sum, accesses, path_of
from paddleflow.cli.fs_options import PLACE
from paddleflow.cli.live import show_lines
from paddleflow.cli.table import Cell, Form, Table
from paddleflow.cli.verbs import Invocation, Verb, pass_invocation
from paddleflow.mounted import NotMounted, Unanswered, follow
from paddleflow.quantity import MEMORY, round_amount

T = TypeVar("T")
_LOOK = 1.0
"""Seconds between two looks."""


@click.command("profile", cls=Verb)
@PLACE
@click.option("--seconds", type=click.FloatRange(0.1, 3600), default=10.0, show_default=True, help="How long.")
@click.option("--most", type=click.IntRange(1, 1000), default=12, show_default=True, help="Rows of each table.")
@click.option("--log", "raw", is_flag=True, help="Show each access, too.")
@pass_invocation
def profile(invocation: Invocation, place: Path, seconds: float, most: int, raw: bool) -> None:
    """Tell who asks the mount at PATH what: requests by count and time, programs, and the paths that took longest.

    The mount writes down all accesses meanwhile, which slows it down. What the kernel reads by itself it does not ask.
    """
    printer, found = invocation.printer, Profile()
    live = printer.terminal and printer.form is Form.TABLE and not raw
    programs: dict[int, str] = {}
    for lines in _looked(place, seconds):
        for access in accesses(lines):
            if access.thread not in programs:
                programs[access.thread] = _program(access.thread)
            found.add(access, programs[access.thread])
        if raw:
            printer.line("".join(lines).rstrip("\n"))
        if live:
            show_lines(_lines(found, {}, most), printer, watching=True)
    paths = _paths(place, [each for each, _ in _longest(found.places, most)])
    if printer.form is Form.TABLE:
        show_lines(_lines(found, paths, most), printer, watching=False)
    else:
        printer.table(_table(found, paths, most))


def _looked(place: Path, seconds: float) -> Iterator[Sequence[str]]:
    """Lines of the log, as they come."""
    until = time.monotonic() + seconds
    with closing(follow(place, os.environ, "accesses")) as beats:
        log = Path(next(beats)["log"])
        with log.open(encoding="utf-8", errors="replace") as file:
            while time.monotonic() < until:
                time.sleep(max(0.0, min(_LOOK, until - time.monotonic())))
                yield _whole_lines(file)


def _whole_lines(file: Iterable[str]) -> Sequence[str]:
    return [line for line in file if line.endswith("\n")]


def _paths(place: Path, places: Sequence[Place]) -> Mapping[int, str]:
    """Of nodes, as far as the mount still knows them."""
    try:
        with closing(follow(place, os.environ, "paths", nodes=[each.node for each in places])) as answers:
            return {int(node): path for node, path in next(answers)["paths"].items()}
    except (NotMounted, Unanswered):
        return {}


def _longest(sums: Mapping[T, Sum], most: int) -> Sequence[tuple[T, Sum]]:
    return sorted(sums.items(), key=lambda each: -each[1].seconds)[:most]


def _lines(found: Profile, paths: Mapping[int, str], most: int) -> Iterator[str]:
    yield from _part("request", _longest(found.requests, most), str)
    yield from _part("program", _longest(found.programs, most), str)
    yield from _part("path", _longest(found.places, most), lambda each: path_of(each, paths))


def _part(title: str, rows: Sequence[tuple[T, Sum]], words: Callable[[T], str]) -> Iterator[str]:
    yield f"{'count':>9}{'failed':>8}{'all ms':>11}{'mean ms':>10}{'longest ms':>12}{'bytes':>9}  {title}"
    for key, each in rows:
        times = f"{1e3 * each.seconds:>11.1f}{1e3 * each.seconds / each.count:>10.3f}{1e3 * each.longest:>12.2f}"
        size = round_amount(MEMORY, each.bytes) if each.bytes else ""
        yield f"{each.count:>9}{each.failed:>8}{times}{size:>9}  {words(key)}"
    yield ""


def _table(found: Profile, paths: Mapping[int, str], most: int) -> Table:
    rows: list[list[Cell]] = []
    for kind, named in (
        ("request", _longest(found.requests, most)),
        ("program", _longest(found.programs, most)),
        ("path", [(path_of(place, paths), each) for place, each in _longest(found.places, most)]),
    ):
        rows += [[kind, name, *asdict(each).values()] for name, each in named]
    return Table(["kind", "name", "count", "failed", "seconds", "longest", "bytes"], rows)


def _program(thread: int) -> str:
    """Its name and the number of its process."""
    if not thread:
        return "the kernel"
    try:
        status = Path(f"/proc/{thread}/status").read_text()
        process = next(line.split()[1] for line in status.splitlines() if line.startswith("Tgid:"))
        return f"{Path(f'/proc/{process}/comm').read_text().strip()} {process}"
    except OSError:
        return "programs that have ended"
