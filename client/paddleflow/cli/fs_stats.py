"""``paddleflow fs stats``: how a mount is doing, once or as it goes on."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import click

from paddleflow.cli.fs_options import PLACE
from paddleflow.cli.live import show_lines
from paddleflow.cli.table import Form, Table
from paddleflow.cli.verbs import Invocation, Verb, pass_invocation
from paddleflow.mount_rates import Rates, RequestRate, Stats, rates
from paddleflow.mounted import NotMounted, ask
from paddleflow.quantity import MEMORY, round_amount

PATIENCE = 10.0
"""Seconds that a mount may be served by nobody: another process takes it up."""
_REQUESTS = 12
"""Kinds of requests that are shown as they go on."""
_BAR = 24
"""Columns."""


@click.command("stats", cls=Verb)
@PLACE
@click.option("--once", is_flag=True, help="Tell it once, also on a terminal.")
@click.option("--every", type=click.FloatRange(0.1, 3600), default=1.0, show_default=True, help="Seconds.")
@click.option("--metrics", is_flag=True, help="Tell it once, as Prometheus reads it.")
@pass_invocation
def stats(invocation: Invocation, place: Path, once: bool, every: float, metrics: bool) -> None:
    """Tell how the mount at PATH is doing: what is read and fetched, cache, memory, how fast it answers.

    On a terminal it is shown as it goes on, until interrupted; elsewhere once, since the mount is served. --output json
    tells all there is.
    """
    printer = invocation.printer
    if metrics:
        printer.line(str(ask(place, os.environ, "metrics")["text"]).rstrip("\n"))
        return
    before, now = None, ask(place, os.environ, "stats")
    watching = printer.terminal and printer.form is Form.TABLE and not once
    if printer.form is not Form.TABLE:
        printer.table(Table([*now], [[*now.values()]]))
        return
    while True:
        show_lines(_lines(now, rates(before, now)), printer, watching=watching)
        if not watching:
            return
        time.sleep(every)
        before, now = now, _asked_patiently(place)


def _asked_patiently(place: Path) -> Stats:
    """Waits for the next process if nobody serves it."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return ask(place, os.environ, "stats")
        except NotMounted:
            if time.monotonic() > until or not place.is_mount():
                raise
            time.sleep(0.1)


def _lines(now: Stats, done: Rates) -> Iterator[str]:
    process, fetching = now["process"], now["fetching"]
    hit = "" if done.hit is None else f", {100 * done.hit:.1f} % without waiting"
    yield f"up {now['up']:.0f} s, {now['nodes']} files known, {now['waiting']} requests wait"
    yield f"read {_amount(done.read)}/s by asking{hit}; fetched {_amount(done.fetched)}/s"
    itself = "reads whole files by itself" if now["passthrough"] else "asks for all it reads"
    yield f"the kernel {itself}; it knows {' '.join(now['features'])}"
    peak = _amount(process["memory_peak"])
    yield f"memory {_amount(process['memory'])}, at most {peak}; processors {done.processors:.2f}"
    if porters := now.get("porters"):
        yield f"{len(porters)} porters fetch small files, with {_amount(sum(each['memory'] for each in porters))}"
    held = _amount(fetching["memory"])
    yield f"{fetching['open']} files open, {held} of fetched bytes in memory, {fetching['waiting']} requests to come"
    for folder in now["cache"]["folders"]:
        yield _cache(folder)
    for kind, words in (("stage", "written here, to be uploaded or open"), ("aside", "could not be uploaded")):
        found = now["written"][kind]
        if found["files"] or kind == "stage":
            yield f"{words}: {found['files']} files, {_amount(found['bytes'])}"
    if owed := now.get("writeback"):
        last = f"; the last that failed: {owed['why']}" if owed["why"] else ""
        oldest = f", for {owed['age']:.0f} s at most" if owed["files"] else ""
        yield f"closed and not uploaded: {owed['files']} files, {_amount(owed['bytes'])}{oldest}{last}"
    yield from _table(done)


def _cache(folder: Stats) -> str:
    if folder["trouble"]:
        return f"cache {folder['path']} is not used: {folder['trouble']}"
    share = folder["bytes"] / folder["most"] if folder["most"] else 0.0
    bar = ("#" * round(min(1.0, share) * _BAR)).ljust(_BAR, ".")
    return f"cache {folder['path']} [{bar}] {_amount(folder['bytes'])} of {_amount(folder['most'])}"


def _table(done: Rates) -> Iterator[str]:
    yield f"{'request':<14}{'each s':>10}{'half in':>12}{'99 % in':>12}{'all':>12}{'failed':>9}"
    for each in done.requests[:_REQUESTS]:
        yield _row(each)


def _row(each: RequestRate) -> str:
    half, most = _time(each.half), _time(each.most)
    return f"{each.name:<14}{each.per_second:>10.1f}{half:>12}{most:>12}{each.count:>12}{each.failed:>9}"


def _time(seconds: float) -> str:
    if not seconds:
        return ""
    return f"{seconds * 1e6:.0f} µs" if seconds < 1e-3 else f"{seconds * 1e3:.1f} ms"


def _amount(size: float) -> str:
    return round_amount(MEMORY, int(size))
