"""MXNet: a scheduler, servers that keep parameters, and workers. A master is taken for the scheduler."""

from __future__ import annotations

import json
from collections.abc import Iterator
from ipaddress import ip_address

from paddleflow.problems import Violation
from pf_job.frameworks import modes
from pf_job.frameworks.rules import Crew, Replica, RoleRule, Rules
from pf_job.specs.domain import Framework, JobSpec, Role

PS = "ps"
PORT = 9091
NAMES = {Role.SCHEDULER: "scheduler", Role.MASTER: "scheduler", Role.PSERVER: "server", Role.WORKER: "worker"}


def environment(crew: Crew, replica: Replica) -> dict[str, str]:
    root = (crew.of(Role.SCHEDULER) or crew.of(Role.MASTER))[0]
    told = {
        "DMLC_ROLE": NAMES[replica.role],
        "DMLC_PS_ROOT_URI": crew.address(root),
        "DMLC_PS_ROOT_PORT": str(crew.port(root, PS)),
        "DMLC_NUM_SERVER": str(len(crew.of(Role.PSERVER))),
        "DMLC_NUM_WORKER": str(len(crew.of(Role.WORKER))),
        # 1: the scheduler listens on all addresses, which is not for one machine alone.
        "DMLC_USE_KUBERNETES": "0" if _is_loopback(crew.address(root)) else "1",
        "MX_CONFIG": _config(crew, replica),
    }
    return told | ({"DMLC_WORKER_ID": str(replica.index)} if replica.role is Role.WORKER else {})


def wrong(spec: JobSpec) -> Iterator[Violation]:
    if bool(spec.member(Role.SCHEDULER)) == bool(spec.member(Role.MASTER)):
        yield Violation("members", "there must be a scheduler, or a master in its place")
    for role in (Role.PSERVER, Role.WORKER):
        if not spec.member(role):
            yield Violation("members", f"there must be a {role}")


def _config(crew: Crew, replica: Replica) -> str:
    there = [role for role in NAMES if crew.of(role)]
    cluster = {
        NAMES[role]: [{"url": crew.address(other), "port": crew.port(other, PS)} for other in crew.of(role)]
        for role in there
    }
    task = {"type": NAMES[replica.role], "index": replica.index}
    return json.dumps({"cluster": cluster, "labels": {NAMES[role]: "" for role in there}, "task": task})


def _is_loopback(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"


RULES = Rules(
    framework=Framework.MXNET,
    roles=(
        RoleRule(role=Role.SCHEDULER, most=1, stage=0, ports={PS: PORT}),
        RoleRule(role=Role.MASTER, most=1, stage=0, ports={PS: PORT}),
        RoleRule(role=Role.PSERVER, stage=1, ports={PS: PORT}),
        RoleRule(role=Role.WORKER, stage=2, ports={PS: PORT}),
    ),
    decisive=(frozenset({Role.WORKER}),),
    environment=environment,
    mode=modes.mode,
    check=wrong,
)
