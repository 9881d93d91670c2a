"""Which replicas' logs are meant."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby

from pf_job.logs.domain import Choice, Known, Standing
from pf_job.runtimes.port import ReplicaKey


def base(choice: Choice, positions: Collection[ReplicaKey], standing: Standing) -> int:
    """The first attempt that is read. Who goes on after a break is not moved to a later one."""
    return choice.attempt or min((key.attempt for key in positions), default=standing.attempt)


def chosen(
    choice: Choice, standing: Standing, attempt: int, read: Collection[ReplicaKey], *, later: bool
) -> Sequence[Known]:
    """The replicas to read, in order, those among them that are read already.

    Of each replica of the first attempt the last restart is meant, or the one that is read already. With `later` all
    that come after are meant too.
    """
    meant = [each for each in standing.replicas if _is_meant(choice, each.key, attempt, later=later)]
    first = _first_restarts(read)
    found: list[Known] = []
    for slot, group in groupby(sorted(meant, key=lambda each: each.key), lambda each: _slot(each.key)):
        starts = list(group)
        begin = _begin(choice, starts, attempt, first.get(slot), later=later)
        found += [each for each in starts if each.key.restart >= begin and (later or each.key.restart == begin)]
    return found


def is_there(choice: Choice, standing: Standing, attempt: int) -> bool:
    """False if the job has no such replica."""
    nothing_special = not choice.role and choice.index is None and choice.restart is None
    meant = (each for each in standing.replicas if _is_meant(choice, each.key, attempt, later=False))
    restarts = [each.key.restart for each in meant]
    return nothing_special or (bool(restarts) if choice.restart is None else choice.restart in restarts)


def _is_meant(choice: Choice, key: ReplicaKey, attempt: int, *, later: bool) -> bool:
    return (
        (key.attempt >= attempt if later else key.attempt == attempt)
        and choice.role in ("", key.role)
        and choice.index in (None, key.index)
    )


def _begin(choice: Choice, starts: Sequence[Known], attempt: int, read: int | None, *, later: bool) -> int:
    """The first restart of a replica that is read."""
    if read is not None:
        return read
    first = starts[0].key.attempt == attempt
    if first and choice.restart is not None:
        return choice.restart
    return starts[-1].key.restart if first or not later else 0


def _slot(key: ReplicaKey) -> tuple[int, str, int]:
    return key.attempt, key.role, key.index


def _first_restarts(read: Collection[ReplicaKey]) -> Mapping[tuple[int, str, int], int]:
    return dict(_highest_first(read))


def _highest_first(read: Collection[ReplicaKey]) -> Iterator[tuple[tuple[int, str, int], int]]:
    for key in sorted(read, reverse=True):
        yield _slot(key), key.restart
