"""``paddleflow run logs``: what the jobs of a run have written."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import click

from paddleflow.cli.completion import complete_run
from paddleflow.cli.log_lines import lines, told
from paddleflow.cli.run_finding import suggesting_run
from paddleflow.cli.table import Form
from paddleflow.cli.verbs import Invocation, Verb, pass_invocation
from paddleflow.models.job_specs import Role
from paddleflow.models.logs import LogOptions, LogReplica
from paddleflow.models.nodes import RunNode
from paddleflow.original_logs import MOST_LINES
from paddleflow.problems import NodeNotFound, Problem

if TYPE_CHECKING:
    from paddleflow.sync import PaddleFlow

MOST_AT_ONCE = 64
"""Logs that are followed at once; the others wait until one of them is over."""


@click.command("logs", cls=Verb)
@click.argument("id", metavar="RUNID", shell_complete=complete_run)
@click.argument("nodes", metavar="[NODE]...", nargs=-1)
@click.option("-f", "--follow", is_flag=True, help="Go on with what is written, until the run is over.")
@click.option("--tail", type=click.IntRange(0, MOST_LINES), help="The last so many lines of each job.")
@pass_invocation
def logs(
    invocation: Invocation,
    id: str,  # noqa: A002 -- the word of the contract
    nodes: Sequence[str],
    follow: bool,
    tail: int | None,
) -> None:
    """Print what the steps of a run have written, or those named, and below DAGs that are named.

    Of several steps each line begins with the step.
    """
    paddleflow, options = invocation.paddleflow(), LogOptions(follow=follow)
    if tail is not None:
        options["tail_lines"] = tail
    with suggesting_run(paddleflow, id):
        known = list(paddleflow.runs.nodes(id))
        chosen = _chosen(id, known, nodes)
        paper = Paper(invocation.printer.form, named=follow or len(chosen) != 1)
        for node in chosen:
            if node.cache_run_id:
                where = f"`paddleflow job logs {node.cache_job_id}`" if node.cache_job_id else node.cache_run_id
                click.echo(f"{node.path} took its result from {node.cache_run_id}; {where} has its log", err=True)
        if follow:
            _follow(paddleflow, id, chosen, nodes, options, paper)
        else:
            for node in chosen:
                if node.job_id:
                    _read(paddleflow, node.path, node.job_id, options, paper)


@dataclass(slots=True)
class Paper:
    """What is written on, by several at once."""

    form: Form
    named: bool
    """True: each line begins with whose it is."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def write(self, path: str, replica: LogReplica, line: bytes) -> None:
        with self.lock:
            sys.stdout.buffer.write(self._line(path, replica, line))
            sys.stdout.buffer.flush()

    def _line(self, path: str, replica: LogReplica, line: bytes) -> bytes:
        if self.form is Form.JSON:
            text = line.removesuffix(b"\n").decode(errors="replace")
            entry = {"node": path, "role": str(replica.role), "index": replica.index, "line": text}
            return json.dumps(entry, ensure_ascii=False).encode() + b"\n"
        if not self.named:
            return line
        whose = path if replica.role is Role.MAIN else f"{path} {replica.role}/{replica.index}"
        return f"{whose}: ".encode() + line.removesuffix(b"\n") + b"\n"


def named(path: str, names: Iterable[str]) -> bool:
    """True if a node is one of those named, an iteration of one, or lies below one; or if none is named."""
    wanted = list(names)
    return not wanted or any(path == name or path.startswith((f"{name}.", f"{name}[")) for name in wanted)


def _chosen(run_id: str, nodes: Sequence[RunNode], names: Sequence[str]) -> list[RunNode]:
    """The steps that are meant; raises NodeNotFound for a name that means none."""
    for name in names:
        if not any(named(node.path, [name]) for node in nodes):
            near = ", ".join(node.path for node in nodes[:10])
            raise NodeNotFound(f"run {run_id!r} has no node {name!r}; there are {near}")
    found = [node for node in nodes if named(node.path, names)]
    return [node for node in found if node.job_id or node.cache_run_id]


def _read(paddleflow: PaddleFlow, path: str, job_id: str, options: LogOptions, paper: Paper) -> None:
    for replica, line in lines(told(paddleflow.logs.read(job_id, **options))):
        paper.write(path, replica, line)


def _follow(
    paddleflow: PaddleFlow,
    run_id: str,
    begun: Sequence[RunNode],
    names: Sequence[str],
    options: LogOptions,
    paper: Paper,
) -> None:
    """Follows the log of each job as soon as there is one, until the run is over and all logs have been read."""
    readers = Readers(lambda path, job_id: _read(paddleflow, path, job_id, options, paper))
    for path, job_id in _jobs(paddleflow, run_id, begun):
        if named(path, names):
            readers.begin(path, job_id)
    readers.finish()


def _jobs(paddleflow: PaddleFlow, run_id: str, begun: Sequence[RunNode]) -> Iterator[tuple[str, str]]:
    """Each job of the run once, with its node: those there are, and those to come, until the run is over."""
    seen = {node.job_id for node in begun if node.job_id}
    yield from ((node.path, node.job_id) for node in begun if node.job_id)
    for happening in paddleflow.runs.happenings(run_id, follow=True):
        if happening.job_id and happening.path and happening.job_id not in seen:
            seen.add(happening.job_id)
            yield happening.path, happening.job_id


class Readers:
    """Threads of which each reads a log; they end with the command that began them."""

    def __init__(self, read: Callable[[str, str], None]) -> None:
        self._read = read
        self._places = threading.Semaphore(MOST_AT_ONCE)
        self._threads: list[threading.Thread] = []

    def begin(self, path: str, job_id: str) -> None:
        thread = threading.Thread(target=self._run, args=(path, job_id), daemon=True)
        self._threads.append(thread)
        thread.start()

    def finish(self) -> None:
        """Waits until all logs have been read."""
        for thread in self._threads:
            thread.join()

    def _run(self, path: str, job_id: str) -> None:
        with self._places:
            try:
                self._read(path, job_id)
            except Problem as problem:
                click.echo(f"{path}: {problem.message}", err=True)
