"""Reads the document of a job, and tells all that is wrong with it at once."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from paddleflow.models.job_specs import JobSpec
from paddleflow.problems import InvalidArgument, Problem, Violation


def read_job(path: str, ask: Callable[[JobSpec], object]) -> JobSpec:
    """The job that a file describes; `-` is the input.

    Raises InvalidArgument with what cannot be read, and with what the service, when it is asked, says of the rest.
    """
    from paddleflow.jobs.documents import read_all  # noqa: PLC0415 -- few commands need it
    from paddleflow.wire.job_specs import spec_from_wire  # noqa: PLC0415 -- as above

    try:
        text = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except OSError as error:
        raise InvalidArgument.of(Violation("file", f"{path} cannot be read: {error.strerror}")) from error
    read = read_all(text)
    spec = spec_from_wire(read.spec)
    if read.wrong:
        raise InvalidArgument.of(*read.wrong, *_further(read.wrong, _answer(spec, ask)))
    return spec


def _answer(spec: JobSpec, ask: Callable[[JobSpec], object]) -> Sequence[Violation]:
    """What the service finds wrong. Without an answer there is enough to tell."""
    try:
        ask(spec)
    except Problem as problem:
        return problem.violations
    return ()


def _further(known: Sequence[Violation], found: Sequence[Violation]) -> Iterator[Violation]:
    """What is not said yet, and does not only follow from that."""
    fields = {wrong.field for wrong in known}
    meant = {_beside(wrong.field, name) for wrong in known for name in _meant(wrong)}
    return (wrong for wrong in found if not any(_within(wrong.field, field) for field in fields | meant))


def _within(field: str, other: str) -> bool:
    return field == other or field.startswith((f"{other}.", f"{other}["))


def _meant(wrong: Violation) -> Sequence[str]:
    """The name that an unknown one is likely to stand for."""
    _, said, name = wrong.description.partition("did you mean ")
    return [name.partition("?")[0]] if said else []


def _beside(field: str, name: str) -> str:
    above, dot, _ = field.rpartition(".")
    return f"{above}{dot}{name}"
