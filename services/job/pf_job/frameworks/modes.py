"""Parameter servers or not: what frameworks have in common that know both."""

from __future__ import annotations

from collections.abc import Iterator

from paddleflow.problems import Violation
from pf_job.frameworks.rules import count, place_of
from pf_job.specs.domain import JobSpec, Mode, Role

LEAST_COLLECTIVE = 2


def mode(spec: JobSpec) -> Mode:
    """PS if there is a pserver or a master, else Collective."""
    centred = spec.member(Role.PSERVER) or spec.member(Role.MASTER)
    return Mode.PS if centred else Mode.COLLECTIVE


def workers_wrong(spec: JobSpec) -> Iterator[Violation]:
    """As many workers as the mode needs; of an elastic member, as many as it can make use of."""
    workers = count(spec, Role.WORKER)
    if mode(spec) is Mode.PS and workers < 1:
        yield Violation("members", "with a pserver or a master there must be a worker")
    if mode(spec) is Mode.COLLECTIVE and workers < LEAST_COLLECTIVE:
        place = place_of(spec, Role.WORKER, "replicas")
        yield Violation(place, f"without pserver and master there must be at least {LEAST_COLLECTIVE} workers")


def centre_and_workers_wrong(spec: JobSpec) -> Iterator[Violation]:
    """One that coordinates, and somebody to be coordinated."""
    for role in (Role.MASTER, Role.WORKER):
        if not spec.member(role):
            yield Violation("members", f"there must be a {role}")
