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
    choice: Choice,
    standing: Standing,
    attempt: int,
    read: Collection[ReplicaKey],
    *,
    later: bool = False,
    anew: bool = True,
) -> Sequence[Known]:
    """The replicas to read, in order, those among them that are read already.

    Of each replica the last restart is meant, or the one that is read already. With `later` all that come after are
    meant too, and all of those that were not there when it was looked `anew`.
    """
    meant = [each for each in standing.replicas if _is_meant(choice, each.key, attempt, later=later)]
    first = _first_restarts(read)
    found: list[Known] = []
    for slot, group in groupby(sorted(meant, key=lambda each: each.key), lambda each: _slot(each.key)):
        starts = list(group)
        is_new = later and not (anew and slot[0] == attempt)
        begin = first[slot] if slot in first else 0 if is_new else _begin(choice, starts)
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


def _begin(choice: Choice, starts: Sequence[Known]) -> int:
    return starts[-1].key.restart if choice.restart is None else choice.restart


def _slot(key: ReplicaKey) -> tuple[int, str, int]:
    return key.attempt, key.role, key.index


def _first_restarts(read: Collection[ReplicaKey]) -> Mapping[tuple[int, str, int], int]:
    return dict(_highest_first(read))


def _highest_first(read: Collection[ReplicaKey]) -> Iterator[tuple[tuple[int, str, int], int]]:
    for key in sorted(read, reverse=True):
        yield _slot(key), key.restart
