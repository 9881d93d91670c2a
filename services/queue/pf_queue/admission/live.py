"""Rows of workloads that are not over, as records: of hundreds of thousands that are sound, in the least time.

What is checked of a row is checked while it is decoded, in one step that gives a record or nothing. Only a row that
does not pass is read again the long way, which finds out what is wrong with it.
"""

from __future__ import annotations

import json
from sys import intern
from typing import Annotated

from msgspec import DecodeError, Meta, Raw, Struct
from msgspec.json import Decoder

from pf_queue.admission.aside import checked, fits
from pf_queue.admission.domain import Key, Outcome, Record, RoleRequest, Spec, WorkloadState
from pf_queue.admission.rows import SPOILT, record_of, roles_of, spec_of, spoilt
from pf_queue.resources import LARGEST

MOST_KINDS = 10_000
"""Different roles that are remembered."""

_Amount = Annotated[int, Meta(ge=0, le=LARGEST)]
_Step = Annotated[int, Meta(ge=1, le=LARGEST)]
_Priority = Annotated[int, Meta(ge=-LARGEST, le=LARGEST)]
_Role = tuple[str, _Amount, _Amount, _Step, dict[str, _Amount]]
_Standing = tuple[
    WorkloadState,
    _Amount,  # number
    _Amount,  # submitted
    _Amount,  # not_before
    _Amount,  # requeues
    str,  # cluster
    str,  # grant
    _Amount,  # grant_version
    _Amount,  # admission
    _Amount,  # since
    _Amount,  # start_by
    _Amount | None,  # running
    tuple[_Amount, ...],  # surplus
    tuple[_Amount, ...],  # shrinking
    _Amount,  # leave_by
    str,  # leaves_for
    _Amount,  # kept_until
    bool,  # starving
    Outcome | None,
    _Amount,  # version
]
"""As `rows` writes it."""


class _Spec(Struct):
    key: str
    queue: str
    user: str
    priority: _Priority
    roles: Raw
    grace: _Amount
    min_run: _Amount
    revision: _Amount = 0


_read_spec = Decoder(_Spec).decode
_read_roles = Decoder(Annotated[list[_Role], Meta(min_length=1)]).decode
_read_standing = Decoder(_Standing).decode


class LiveRows:
    """Reads them. What many have in common, roles and names, is one object then; roles are also read only once."""

    def __init__(self) -> None:
        self._kinds: dict[bytes, tuple[RoleRequest, ...]] = {}

    def record(self, id_: str, queue: str, spec: str, standing: str) -> Record:
        """A row as a record; set aside if it cannot be read, or is not sound."""
        return self._sound(id_, queue, spec, standing) or _looked_at(id_, queue, spec, standing)

    def _sound(self, id_: str, queue: str, spec: str, standing: str) -> Record | None:
        try:
            record = record_of(self._spec(spec), _read_standing(standing))
        except (DecodeError, ValueError, RecursionError):
            return None
        sound = (record.id, record.spec.queue) == (id_, queue) and record.state is not WorkloadState.RELEASED
        return record if sound and (not record.holds or fits(record)) else None

    def _spec(self, text: str) -> Spec:
        asked = _read_spec(text)
        return Spec(
            key=Key.parse(asked.key),
            queue=intern(asked.queue),
            user=intern(asked.user),
            priority=asked.priority,
            roles=self._roles(bytes(asked.roles)),
            grace=asked.grace,
            min_run=asked.min_run,
            revision=asked.revision,
        )

    def _roles(self, text: bytes) -> tuple[RoleRequest, ...]:
        roles = self._kinds.get(text)
        if roles is None:
            roles = roles_of(_read_roles(text))
            if len(self._kinds) < MOST_KINDS:
                self._kinds[text] = roles
        return roles


def _looked_at(id_: str, queue: str, spec: str, standing: str) -> Record:
    try:
        return checked(record_of(spec_of(json.loads(spec)), json.loads(standing)), id_, queue)
    except SPOILT as error:
        return spoilt(id_, queue, error)
