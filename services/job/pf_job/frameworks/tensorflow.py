"""TensorFlow: one variable, TF_CONFIG, says where all are and who reads it.

A master is TensorFlow's chief and a pserver its ps. Evaluators stand outside of the cluster. With a chief the job is
done when the chief is: workers and servers of parameter servers wait for ever. Without one, when all workers are.
"""

from __future__ import annotations

import json

from pf_job.frameworks import modes
from pf_job.frameworks.rules import Crew, Replica, RoleRule, Rules
from pf_job.specs.domain import Framework, Role

GRPC = "grpc"
PORT = 2222
NAMES = {Role.MASTER: "chief", Role.WORKER: "worker", Role.PSERVER: "ps", Role.EVALUATOR: "evaluator"}


def environment(crew: Crew, replica: Replica) -> dict[str, str]:
    cluster = {
        NAMES[role]: crew.endpoints(role, GRPC) for role in (Role.MASTER, Role.WORKER, Role.PSERVER) if crew.of(role)
    }
    task = {"type": NAMES[replica.role], "index": replica.index}
    return {"TF_CONFIG": json.dumps({"cluster": cluster, "task": task, "environment": "cloud"})}


RULES = Rules(
    framework=Framework.TENSORFLOW,
    roles=(
        RoleRule(role=Role.PSERVER, stage=0, ports={GRPC: PORT}),
        RoleRule(role=Role.MASTER, most=1, stage=1, ports={GRPC: PORT}),
        RoleRule(role=Role.WORKER, stage=1, ports={GRPC: PORT}),
        RoleRule(role=Role.EVALUATOR, most=1, stage=1, vital=False),
    ),
    decisive=(frozenset({Role.MASTER}), frozenset({Role.WORKER})),
    environment=environment,
    mode=modes.mode,
    check=modes.workers_wrong,
)
