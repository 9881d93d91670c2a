"""What the fields of workloads may hold."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from paddleflow.problems import Violation
from pf_kit.fields import dns_label, shown, within
from pf_queue.admission.domain import Key, RoleRequest, Spec
from pf_queue.fields import amounts
from pf_queue.resources import LARGEST

MOST_AT_ONCE = 1000
"""Workloads of one request."""
MOST_ROLES = 32
MOST_REPLICAS = 1_000_000
LAST_ATTEMPT = 1_000_000
PRIORITY = 1_000_000
LONGEST_GRACE = 24 * 3600 * 1_000_000
LONGEST_RUN = 365 * LONGEST_GRACE
_JOB = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_ROLE = re.compile(r"[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?")
_USER = re.compile(r"[A-Za-z0-9]{1,63}")


def at_once(field: str, things: Sequence[object]) -> Iterator[Violation]:
    """How many may come in one request."""
    if not things:
        yield Violation(field, "must have at least one")
    elif len(things) > MOST_AT_ONCE:
        yield Violation(field, f"must have at most {MOST_AT_ONCE}, and has {len(things)}")


def key_violations(field: str, key: Key, least: int = 1) -> Iterator[Violation]:
    if not _JOB.fullmatch(key.job):
        rule = "1 to 128 letters, digits and '._-', beginning with a letter or digit"
        yield Violation(f"{field}.job_id", f"must be {rule}, and is {shown(key.job)}")
    yield from within(f"{field}.attempt", key.attempt, least, LAST_ATTEMPT)


def repeated_keys(field: str, keys: Sequence[Key]) -> Iterator[Violation]:
    for key, count in Counter(keys).items():
        if count > 1:
            yield Violation(field, f"names {key} {count} times")


def spec_violations(field: str, spec: Spec) -> Iterator[Violation]:
    yield from key_violations(f"{field}.key", spec.key)
    yield from dns_label(f"{field}.queue", spec.queue)
    if not _USER.fullmatch(spec.user):
        yield Violation(f"{field}.user", f"must be 1 to 63 letters and digits, and is {shown(spec.user)}")
    yield from within(f"{field}.priority", spec.priority, -PRIORITY, PRIORITY)
    yield from within(f"{field}.revision", spec.revision, 0, LARGEST)
    yield from within(f"{field}.grace_period", spec.grace, 0, LONGEST_GRACE)
    yield from within(f"{field}.min_run_time", spec.min_run, 0, LONGEST_RUN)
    if not 1 <= len(spec.roles) <= MOST_ROLES:
        yield Violation(f"{field}.roles", f"must be 1 to {MOST_ROLES}, and are {len(spec.roles)}")
        return
    for name, count in Counter(role.role for role in spec.roles).items():
        if count > 1:
            yield Violation(f"{field}.roles", f"name {shown(name)} {count} times")
    for index, role in enumerate(spec.roles):
        yield from _role_violations(f"{field}.roles[{index}]", role)
    if not any(role.least for role in spec.roles):
        yield Violation(f"{field}.roles", "must have a role with min_replicas of at least 1")
    yield from _sum_violations(field, spec)


def change_violations(priority: int, revision: int) -> Iterator[Violation]:
    yield from within("priority", priority, -PRIORITY, PRIORITY)
    yield from within("revision", revision, 0, LARGEST)


def _role_violations(field: str, role: RoleRequest) -> Iterator[Violation]:
    if not _ROLE.fullmatch(role.role):
        yield Violation(f"{field}.role", f"must be lower-case letters, digits, '-' and '_', and is {shown(role.role)}")
    yield from within(f"{field}.min_replicas", role.least, 0, MOST_REPLICAS)
    yield from within(f"{field}.max_replicas", role.most, role.least, MOST_REPLICAS)
    yield from within(f"{field}.surplus_step", role.step, 1, MOST_REPLICAS)
    yield from amounts(f"{field}.per_replica", role.per_replica)


def _sum_violations(field: str, spec: Spec) -> Iterator[Violation]:
    """What all replicas take must be an amount too."""
    for name in {name for role in spec.roles for name in role.per_replica}:
        total = sum(max(role.least, role.most) * role.per_replica.amount(name) for role in spec.roles)
        if total > LARGEST:
            yield Violation(f"{field}.roles", f"ask for more than 10^18 of {name} together")
