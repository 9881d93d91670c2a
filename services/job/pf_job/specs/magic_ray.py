"""Members of a Ray job that names none: they stand in variables, as steps of a pipeline have them.

`RAY_JOB_ENTRY_POINT` is what the head runs; `RAY_JOB_HEADER_FLAVOUR`, `_IMAGE`, `_PRIORITY` and
`RAY_JOB_WORKER_FLAVOUR`, `_IMAGE`, `_PRIORITY`, `_REPLICAS`, `_MIN_REPLICAS`, `_MAX_REPLICAS` are fields of the two
members. With `RAY_JOB_ENABLE_AUTOSCALING: "false"` there are as many workers as `_REPLICAS` says. What Ray is started
with (`…_START_PARAMS_…`, `RAY_JOB_RUNTIME_ENV`) is read when a replica starts.
"""

from __future__ import annotations

from collections.abc import Mapping

from paddleflow.problems import Violation
from pf_job.specs.domain import Flavour, Member, Priority, Role, SchedulingPolicy, Work

ENTRY_POINT = "RAY_JOB_ENTRY_POINT"
RUNTIME_ENV = "RAY_JOB_RUNTIME_ENV"
HEADER = "RAY_JOB_HEADER_"
WORKER = "RAY_JOB_WORKER_"
AUTOSCALING = "RAY_JOB_ENABLE_AUTOSCALING"
START_PARAMS = "START_PARAMS_"

_MOST_DIGITS = 9
"""As many as fit into the numbers of the contract."""


def members(job: Work) -> tuple[tuple[Member, ...], list[Violation]]:
    """Head and workers; and what is wrong with the variables."""
    env = job.env
    if ENTRY_POINT not in env and f"{WORKER}REPLICAS" not in env:
        return (), []
    wrong: list[Violation] = []
    replicas = _count(env, "REPLICAS", wrong) or 1
    most = _count(env, "MAX_REPLICAS", wrong)
    least = _count(env, "MIN_REPLICAS", wrong) or replicas
    if env.get(AUTOSCALING, "").lower() == "false":
        most = 0
    head = Member(role=Role.MASTER, work=_work(env, HEADER, env.get(ENTRY_POINT, ""), wrong))
    worker = Member(
        role=Role.WORKER,
        replicas=least if most else replicas,
        max_replicas=most,
        work=_work(env, WORKER, "", wrong),
    )
    return (head, worker), wrong


def _work(env: Mapping[str, str], prefix: str, command: str, wrong: list[Violation]) -> Work:
    priority = env.get(f"{prefix}PRIORITY", "").upper()
    if priority and priority not in {*Priority}:
        wrong.append(Violation(f"env.{prefix}PRIORITY", f"must be one of {', '.join(Priority)}"))
        priority = ""
    return Work(
        scheduling_policy=SchedulingPolicy(priority=Priority(priority) if priority else None),
        flavour=Flavour(name=env.get(f"{prefix}FLAVOUR", "")),
        image=env.get(f"{prefix}IMAGE", ""),
        command=command,
    )


def _count(env: Mapping[str, str], name: str, wrong: list[Violation]) -> int:
    told = env.get(f"{WORKER}{name}", "")
    if not told:
        return 0
    if told.isascii() and told.isdigit() and len(told) <= _MOST_DIGITS:
        return int(told)
    wrong.append(Violation(f"env.{WORKER}{name}", "must be a whole number, such as 2"))
    return 0
