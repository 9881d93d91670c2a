"""``paddleflow queue replay``: what admission was told and decided, again, from its log of rounds."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeAlias

import click

from paddleflow.cli.completion import complete_job, complete_queue
from paddleflow.cli.failure import REFUSED
from paddleflow.cli.parameters import moment
from paddleflow.cli.replay_lines import told_event
from paddleflow.cli.verbs import Invocation, Verb, pass_invocation
from paddleflow.problems import FailedPrecondition, NotFound

Event: TypeAlias = Mapping[str, Any]
GROUP, NAME = "paddleflow.rounds", "replay"
"""The entry point by which the package of the server, which has the engine, offers to replay a log."""
FOLDER = "PF_QUEUE_ADMISSION_ROUNDS_FOLDER"
"""The setting of the service that says where its log is."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
PROGRESS = 0.5
"""Seconds between two words about how far it is."""


@click.command("replay", cls=Verb)
@click.argument("path", type=click.Path(exists=True, path_type=Path), envvar=FOLDER)
@click.option("--queue", "queuename", default="", shell_complete=complete_queue, help="Show only what is about it.")
@click.option("--job", default="", shell_complete=complete_job, help="Show only what is about this job, all attempts.")
@click.option("--from", "since", help="Show what was at or after this: 2h (ago), 2026-05-01T12:00:00+02:00.")
@click.option("--to", "until", help="Show what was before this.")
@click.option("--summary", is_flag=True, help="Show only whether all came out the same.")
@pass_invocation
def replay(
    invocation: Invocation,
    path: Path,
    queuename: str,
    job: str,
    since: str | None,
    until: str | None,
    summary: bool,
) -> None:
    """Decide again what was decided, and say whether it comes out the same, byte for byte.

    PATH is a file of a log of rounds, or the folder with all of them, else the one in PF_QUEUE_ADMISSION_ROUNDS_FOLDER.
    No server is asked. The options choose what is shown; all is replayed. Exit status 1: something differs, or cannot
    be read.
    """
    now = datetime.now(UTC)
    chosen = Chosen(
        queuename,
        job,
        _micros(moment("since", since, now)) if since else None,
        _micros(moment("until", until, now)) if until else None,
    )
    tally, printer = Tally(), invocation.printer
    for event in _watched(_replayer()(path), path, quiet=printer.terminal and not summary):
        tally.count(event)
        if (shown := chosen.part(event)) is not None and not summary:
            printer.line(told_event(shown, printer.form))
    if tally.empty:
        raise NotFound(f"there is no log of rounds in {str(path)!r}: the service makes one in the folder of {FOLDER}")
    printer.line(told_event(tally.event, printer.form))
    if tally.failed:
        click.get_current_context().exit(REFUSED)


def _replayer() -> Callable[[Path], Iterator[Event]]:
    from importlib.metadata import entry_points  # noqa: PLC0415 -- few commands need it

    found = list(entry_points(group=GROUP, name=NAME))
    if not found:
        raise FailedPrecondition(
            "a replay needs the engine of the server beside the client; run it where `pf-queue` is installed,"
            " or install it: pip install paddleflow-server"
        )
    offered: Callable[[Path], Iterator[Event]] = found[0].load()
    return offered


def _micros(at: datetime) -> int:
    return (at - EPOCH) // timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Chosen:
    """What is shown; what is empty matches all."""

    queue: str
    job: str
    since: int | None
    until: int | None

    def part(self, event: Event) -> Event | None:
        """As much of an event as is shown; None for nothing. What went wrong is shown always."""
        if event["event"] != "turn" or event["difference"] or event["fault"]:
            return event
        if (self.since is not None and event["time"] < self.since) or (
            self.until is not None and event["time"] >= self.until
        ):
            return None
        parts = {name: [each for each in event[name] if self._about(each)] for name in ("inputs", "decisions")}
        return {**event, **parts} if any(parts.values()) else None

    def _about(self, told: Event) -> bool:
        jobs = (told["job"], told.get("for", ""))
        here = self.queue in ("", told["queue"])
        return here and (not self.job or any(self.job in (job, job.rpartition("/")[0]) for job in jobs))


@dataclass
class Tally:
    """What there was in all."""

    segments: int = 0
    turns: int = 0
    inputs: int = 0
    decisions: int = 0
    not_stored: int = 0
    unreadable: int = 0
    torn: int = 0
    others: set[str] = field(default_factory=set)
    """Versions that wrote a log, other than the one that replays it."""
    difference: Event | None = None
    """The first."""

    def count(self, event: Event) -> None:
        match event["event"]:
            case "segment":
                self.segments += 1
                self.others |= {event["written by"]} - {event["replayed by"]}
            case "turn":
                self.turns += 1
                self.inputs += len(event["inputs"])
                self.decisions += len(event["decisions"])
                self.not_stored += not event["stored"]
                if event["difference"] and self.difference is None:
                    self.difference = {"file": event["file"], "turn": event["turn"], **event["difference"]}
            case "end":
                self.torn += event["torn"]
            case "unreadable":
                self.unreadable += 1

    @property
    def empty(self) -> bool:
        return self.segments == self.unreadable == 0

    @property
    def failed(self) -> bool:
        return self.difference is not None or self.unreadable > 0

    @property
    def event(self) -> Event:
        return {
            "event": "summary",
            "segments": self.segments,
            "turns": self.turns,
            "inputs": self.inputs,
            "decisions": self.decisions,
            "not stored": self.not_stored,
            "torn": self.torn,
            "unreadable": self.unreadable,
            "written by others": sorted(self.others),
            "same": self.difference is None,
            "difference": self.difference,
        }


def _watched(events: Iterable[Event], path: Path, *, quiet: bool) -> Iterator[Event]:
    """The same events; a person who sees nothing else is told how far it is."""
    if quiet or not sys.stderr.isatty():
        yield from events
        return
    sizes = {file.name: file.stat().st_size for file in ([path] if path.is_file() else path.iterdir())}
    told = time.monotonic()
    for event in events:
        yield event
        if event["event"] == "turn" and time.monotonic() - told >= PROGRESS:
            told = time.monotonic()
            before = sum(size for name, size in sizes.items() if name < event["file"])
            done = min(1.0, (before + event["read"]) / max(1, sum(sizes.values())))
            click.echo(f"\r{done:4.0%}  turn {event['turn']} of {event['file']} ", nl=False, err=True)
    click.echo("\r" + " " * 79 + "\r", nl=False, err=True)
