"""Strategies of job specs, right and wrong."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from hypothesis import strategies as st

from pf_job.specs.domain import (
    FilesystemMount,
    Flavour,
    Framework,
    JobSpec,
    LimitFlavour,
    Member,
    Priority,
    RetryPolicy,
    Role,
    SchedulingPolicy,
    TimeLimits,
    Work,
)

NUMBERS = st.integers(-(2**31), 2**31 - 1)
WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)
PAIRS = st.dictionaries(WORDS, WORDS, max_size=3)
TIMES = st.none() | st.timedeltas(timedelta(0), timedelta(days=5000))
AMOUNTS = st.dictionaries(WORDS, st.integers(-(2**63), 2**63 - 1), max_size=3)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=10,
)
MOUNTS = st.builds(
    FilesystemMount, id=WORDS, name=WORDS, mount_path=WORDS, sub_path=WORDS, read_only=st.booleans()
).filter(lambda mount: mount != FilesystemMount())
FLAVOURS = st.builds(Flavour, name=WORDS, amounts=AMOUNTS)
WORK = st.builds(
    Work,
    labels=PAIRS,
    annotations=PAIRS,
    scheduling_policy=st.builds(SchedulingPolicy, queue=WORDS, priority=st.none() | st.sampled_from(Priority)),
    flavour=FLAVOURS,
    limit_flavour=st.builds(LimitFlavour, none=st.booleans(), flavour=FLAVOURS),
    fs=st.none() | MOUNTS,
    extra_fs=st.lists(MOUNTS, max_size=3).map(tuple),
    image=WORDS,
    env=PAIRS,
    secret_env=PAIRS,
    command=WORDS,
    args=st.lists(WORDS, max_size=3).map(tuple),
    port=NUMBERS,
    extension_template=st.none() | st.dictionaries(WORDS, JSON, min_size=1, max_size=3),
)
MEMBERS = st.builds(
    Member,
    role=st.sampled_from(Role),
    replicas=NUMBERS,
    max_replicas=NUMBERS,
    replica_step=NUMBERS,
    work=WORK,
)
SPECS = st.builds(
    JobSpec,
    id=WORDS,
    name=WORDS,
    work=WORK,
    framework=st.none() | st.sampled_from(Framework),
    members=st.lists(MEMBERS, max_size=3).map(tuple),
    retry=st.builds(
        RetryPolicy,
        limit=NUMBERS,
        backoff=TIMES,
        max_backoff=TIMES,
        not_on=st.lists(NUMBERS, max_size=3).map(tuple),
        no_requeue=st.booleans(),
    ),
    limits=st.builds(TimeLimits, pending=TIMES, run=TIMES, grace=TIMES, protected=TIMES, kept=TIMES, steady=TIMES),
)


def right(spec: JobSpec) -> JobSpec:
    """The same without what no document says: resources of no name, amounts below 0, a member that is main."""
    members = tuple(
        replace(member, role=Role.WORKER if member.role is Role.MAIN else member.role, work=_right(member.work))
        for member in spec.members
    )
    return replace(spec, work=_right(spec.work), members=members)


def _right(work: Work) -> Work:
    limit = work.limit_flavour
    named = replace(limit.flavour, name="") if limit.none or limit.flavour.name.upper() == "NONE" else limit.flavour
    return replace(
        work, flavour=_right_flavour(work.flavour), limit_flavour=replace(limit, flavour=_right_flavour(named))
    )


def _right_flavour(flavour: Flavour) -> Flavour:
    amounts = {f"r{at}": abs(amount) % 10**18 for at, amount in enumerate(flavour.amounts.values())}
    return replace(flavour, amounts=amounts)
