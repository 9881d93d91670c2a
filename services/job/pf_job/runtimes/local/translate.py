"""Between the words of the port and those of the runner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from paddleflow.problems import FailedPrecondition, InvalidArgument, Problem, ResourceExhausted
from pf_job.runtimes.local.layout import compose, decompose
from pf_job.runtimes.port import Launch, Mount, Phase, ReplicaKey, Sighting

PROBLEMS: Mapping[str, type[Problem]] = {
    problem.code: problem for problem in (FailedPrecondition, InvalidArgument, ResourceExhausted)
}


def name_of(key: ReplicaKey) -> str:
    """Raises InvalidArgument."""
    name = compose(key.job, key.attempt, key.role, key.index, key.restart)
    if name is None:
        raise InvalidArgument(
            f"{key} cannot be the name of a folder: job and role may have 100 letters, digits and ._- and begin with "
            "a letter or digit"
        )
    return name


def key_of(name: str) -> ReplicaKey:
    parts = decompose(name)
    if parts is None:
        raise ValueError(f"{name!r} names no replica")
    return ReplicaKey(*parts)


def order(launch: Launch, mounts: Sequence[Mount], holds: Sequence[str]) -> dict[str, Any]:
    """With its folders, all of this machine, and the locks that it holds. Raises InvalidArgument."""
    ceiling = launch.ceiling
    return {
        "name": name_of(launch.key),
        "tenant": launch.tenant,
        "argv": list(launch.argv),
        "env": {**launch.env, **launch.private_env},
        "secret_env": dict(launch.secret_env),
        "cwd": launch.cwd,
        "mounts": [[mount.source, mount.target, mount.read_only, mount.identity] for mount in mounts],
        "holds": list(holds),
        "cpu": ceiling.cpu,
        "memory": ceiling.memory,
        "processes": ceiling.processes,
        "log": ceiling.log,
        "shares": launch.requests.get("cpu"),
        "accelerators": launch.accelerators,
    }


def sighting(told: Mapping[str, Any], machine: str) -> Sighting:
    return Sighting(
        key=key_of(told["name"]),
        phase=Phase(told["phase"]),
        machine=machine,
        accelerators=tuple(told.get("accelerators", ())),
        started=told.get("started"),
        ended=told.get("ended"),
        status=told.get("status"),
        signal=told.get("signal"),
        message=told.get("message", ""),
        notes=tuple(told.get("notes", ())),
    )


def problem(reason: str, message: str) -> Problem:
    return PROBLEMS.get(reason, Problem)(message)
