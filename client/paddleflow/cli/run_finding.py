"""What somebody may have meant who named a run, a node, a pipeline or a schedule that is not there."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from paddleflow.cli.finding import LIKENESS, LOOKED_AT
from paddleflow.problems import NodeNotFound, NotFound, PipelineNotFound, RunNotFound, ScheduleNotFound

if TYPE_CHECKING:
    from paddleflow.sync import PaddleFlow


@contextmanager
def suggesting_run(paddleflow: PaddleFlow, id_: str) -> Iterator[None]:
    """Lets the problem that there is no such run, or no such node in it, say which there are that are called alike."""
    try:
        yield
    except RunNotFound as problem:
        runs = paddleflow.runs.page(LOOKED_AT).items
        raise _with(problem, _nearest(id_, ((run.id, run.name) for run in runs))) from problem


@contextmanager
def suggesting_node(paddleflow: PaddleFlow, id_: str, path: str) -> Iterator[None]:
    """The same for a node of a run, and for the run."""
    with suggesting_run(paddleflow, id_):
        try:
            yield
        except NodeNotFound as problem:
            nodes = paddleflow.runs.node_page(id_, LOOKED_AT).items
            raise _with(problem, _nearest(path, ((node.path, node.name) for node in nodes))) from problem


@contextmanager
def suggesting_pipeline(paddleflow: PaddleFlow, id_: str) -> Iterator[None]:
    """The same for a pipeline."""
    try:
        yield
    except PipelineNotFound as problem:
        known = paddleflow.pipelines.page(LOOKED_AT).items
        raise _with(problem, _nearest(id_, ((each.id, each.name) for each in known))) from problem


@contextmanager
def suggesting_schedule(paddleflow: PaddleFlow, id_: str) -> Iterator[None]:
    """The same for a schedule."""
    try:
        yield
    except ScheduleNotFound as problem:
        known = paddleflow.schedules.page(LOOKED_AT).items
        raise _with(problem, _nearest(id_, ((each.id, each.name) for each in known))) from problem


def _nearest(word: str, known: Iterable[tuple[str, str]]) -> list[str]:
    """The ids of what is named so, or that are spelled alike; at most three."""
    names = dict(known)
    called = [id_ for id_, name in names.items() if name == word != id_]
    return called[:3] or difflib.get_close_matches(word, names, n=3, cutoff=LIKENESS)


def _with(problem: NotFound, near: Iterable[str]) -> NotFound:
    meant = " or ".join(near)
    return type(problem)(f"{problem.message}; did you mean {meant}?") if meant else problem
