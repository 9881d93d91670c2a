"""Lines of a log of rounds, read back. Whatever such a line cannot be raises Malformed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from enum import StrEnum
from typing import Any, TypeVar

from pf_queue.admission.core.places import Admission, QueueRules, Reach
from pf_queue.admission.core.pool import Tuning
from pf_queue.admission.domain import Key, Outcome, Patience, Record, RoleRequest, Spec, WorkloadState
from pf_queue.admission.journal.encode import AMOUNTS, FORMAT, RULES, STANDING, VERSION
from pf_queue.admission.journal.inputs import (
    Arrange,
    Input,
    Opening,
    Release,
    Resize,
    Resume,
    Round,
    Running,
    Submit,
    Update,
)
from pf_queue.admission.layout import Layout, PoolId, PoolLayout
from pf_queue.quota.domain import QueueState
from pf_queue.resources import Resources

T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)

LARGEST = 2**63
"""No number of a log is as large, nor below its negative."""


class Malformed(Exception):
    """Something is not as a log of rounds has it."""


def parsed(line: bytes) -> Mapping[str, Any]:
    """The object that a line holds."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise Malformed(f"no JSON: {error}") from error
    if not isinstance(found, dict):
        raise Malformed("no JSON object")
    return found


def opening_of(head: Mapping[str, Any], records: Sequence[Record]) -> Opening:
    return Opening(
        software=_str(head.get("software")),
        tuning=Tuning(*_ints(head.get("tuning"), len(fields(Tuning)))),
        patience=Patience(*_ints(head.get("patience"), len(fields(Patience)))),
        number=_int(head.get("number")),
        now=_int(head.get("now")),
        layout=_layout(head.get("layout")),
        records=records,
    )


def workloads_of(head: Mapping[str, Any]) -> int:
    """How many workloads the lines after the first tell."""
    if head.get("format") != FORMAT:
        raise Malformed("this is no log of rounds")
    if head.get("version") != VERSION:
        raise Malformed(f"version {head.get('version')!r} of a log of rounds; this program reads version {VERSION}")
    return _int(head.get("workloads"))


def records_of(rows: object) -> Sequence[Record]:
    return [_record(*_list(row, 2)) for row in _list(rows)]


def inputs_of(rows: object) -> Sequence[Input]:
    return [_input(row) for row in _list(rows)]


def _input(row: object) -> Input:
    word, *told = _list(row) or [None]
    if not isinstance(word, str) or (read := _INPUTS.get(word)) is None:
        raise Malformed(f"no input: {word!r}")
    try:
        return read(*told)
    except TypeError as error:
        raise Malformed(f"{word} has {len(told)} values") from error


def _submit(now: object, spec: object) -> Input:
    return Submit(_spec(spec), _int(now))


def _release(now: object, key: object, grant: object, outcome: object) -> Input:
    return Release(_key(key), _str(grant), _word(Outcome, outcome), _int(now))


def _resize(key: object, grant: object, left: object) -> Input:
    return Resize(_key(key), _str(grant), {role: _int(count) for role, count in _dict(left).items()})


def _update(now: object, key: object, priority: object, revision: object) -> Input:
    return Update(_key(key), _int(priority), _int(revision), _int(now))


def _running(now: object, key: object, grant: object) -> Input:
    return Running(_key(key), _str(grant), _int(now))


def _resume(now: object, key: object) -> Input:
    return Resume(_key(key), _int(now))


def _arrange(now: object, layout: object) -> Input:
    return Arrange(_layout(layout), _int(now))


def _round(now: object) -> Input:
    return Round(_int(now))


_INPUTS: Mapping[str, Callable[..., Input]] = {
    "arrange": _arrange,
    "release": _release,
    "resize": _resize,
    "resume": _resume,
    "round": _round,
    "running": _running,
    "submit": _submit,
    "update": _update,
}


def _spec(row: object) -> Spec:
    key, queue, user, priority, roles, grace, min_run, revision = _list(row, 8)
    return Spec(
        key=_key(key),
        queue=_str(queue),
        user=_str(user),
        priority=_int(priority),
        roles=tuple(_role(*_list(role, 5)) for role in _list(roles)),
        grace=_int(grace),
        min_run=_int(min_run),
        revision=_int(revision),
    )


def _role(role: object, least: object, most: object, step: object, each: object) -> RoleRequest:
    return RoleRequest(_str(role), _int(least), _int(most), _int(step), _amounts(each))


def _record(spec: object, standing: object) -> Record:
    told = dict(zip(STANDING, _list(standing, len(STANDING)), strict=True))
    outcome, running = told["outcome"], told["running"]
    return Record(
        spec=_spec(spec),
        state=_word(WorkloadState, told["state"]),
        number=_int(told["number"]),
        submitted=_int(told["submitted"]),
        not_before=_int(told["not_before"]),
        requeues=_int(told["requeues"]),
        cluster=_str(told["cluster"]),
        grant=_str(told["grant"]),
        grant_version=_int(told["grant_version"]),
        admission=_int(told["admission"]),
        since=_int(told["since"]),
        start_by=_int(told["start_by"]),
        running=None if running is None else _int(running),
        surplus=tuple(_ints(told["surplus"])),
        shrinking=tuple(_ints(told["shrinking"])),
        leave_by=_int(told["leave_by"]),
        leaves_for=_str(told["leaves_for"]),
        kept_until=_int(told["kept_until"]),
        starving=_bool(told["starving"]),
        outcome=None if outcome is None else _word(Outcome, outcome),
        version=_int(told["version"]),
    )


def _layout(row: object) -> Layout:
    told = _dict(row)
    pools = [_pool(*_list(each, 7)) for each in _list(told.get("pools"))]
    queues = {name: _list(place, 2) for name, place in _dict(told.get("queues")).items()}
    for place, _ in queues.values():
        if not 0 <= _int(place) < len(pools):
            raise Malformed(f"there is no pool {place}")
    return Layout(
        dict(pools),
        {name: pools[place][0] for name, (place, _) in queues.items()},
        {name: _word(QueueState, state) for name, (_, state) in queues.items()},
    )


def _pool(
    cluster: object, queue: object, queues: object, capacity: object, sizes: object, reported: object, online: object
) -> tuple[PoolId, PoolLayout]:
    layout = PoolLayout(
        queues=tuple(_queue(each) for each in _list(queues)),
        capacity=_amounts(capacity),
        sizes=tuple(_amounts(size) for size in _list(sizes)),
        reported=_bool(reported),
        online=_bool(online),
    )
    return PoolId(_str(cluster), _str(queue)), layout


def _queue(row: object) -> QueueRules:
    told = _list(row, len(RULES) + len(AMOUNTS))
    name, parent, weight, priority, reach, strict, max_jobs, max_jobs_per_user, admission = told[: len(RULES)]
    amounts = dict(zip(AMOUNTS, map(_amounts, told[len(RULES) :]), strict=True))
    return QueueRules(
        name=_str(name),
        parent=_str(parent),
        weight=_int(weight),
        priority=_int(priority),
        reach=_word(Reach, reach),
        strict=_bool(strict),
        max_jobs=_int(max_jobs),
        max_jobs_per_user=_int(max_jobs_per_user),
        admission=_word(Admission, admission),
        **amounts,
    )


def _amounts(told: object) -> Resources:
    return Resources({name: _int(amount) for name, amount in _dict(told).items()})


def _key(told: object) -> Key:
    try:
        return Key.parse(_str(told))
    except ValueError as error:
        raise Malformed(f"no key: {told!r}") from error


def _word(words: type[E], told: object) -> E:
    try:
        return words(_str(told))
    except ValueError as error:
        raise Malformed(str(error)) from error


def _ints(told: object, count: int | None = None) -> Sequence[int]:
    return [_int(value) for value in _list(told, count)]


def _int(told: object) -> int:
    if type(told) is not int or abs(told) >= LARGEST:
        raise Malformed(f"no whole number: {told!r:.50}")
    return told


def _str(told: object) -> str:
    return _of(str, told)


def _bool(told: object) -> bool:
    return _of(bool, told)


def _dict(told: object) -> dict[str, Any]:
    return _of(dict, told)


def _list(told: object, count: int | None = None) -> list[Any]:
    found: list[Any] = _of(list, told)
    if count is not None and len(found) != count:
        raise Malformed(f"{len(found)} values in place of {count}")
    return found


def _of(kind: type[T], told: object) -> T:
    if not isinstance(told, kind):
        raise Malformed(f"no {kind.__name__}: {told!r:.50}")
    return told
