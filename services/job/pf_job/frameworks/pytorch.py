"""PyTorch: processes that know their rank, or launchers (`torchrun`) that read the same as `PET_…`.

Ranks run over master, pserver and worker, in this order. The most nodes that the launchers of an elastic job wait for
is how many there are now, so that no rendezvous waits for nodes that never come; they are started again when the number
changes.
"""

from __future__ import annotations

from pf_job.frameworks import modes
from pf_job.frameworks.rules import MOST_RESTARTS, Crew, Reach, Replica, RoleRule, Rules, gpus
from pf_job.specs.domain import Framework, JobSpec, Role

RENDEZVOUS = "rendezvous"
RANKS = (Role.MASTER, Role.PSERVER, Role.WORKER)


def environment(crew: Crew, replica: Replica) -> dict[str, str]:
    ranked = [other for role in RANKS for other in crew.of(role)]
    first = ranked[0]
    told = {
        "MASTER_ADDR": crew.address(first),
        "MASTER_PORT": str(crew.port(first, RENDEZVOUS)),
        "WORLD_SIZE": str(len(ranked)),
        "RANK": str(ranked.index(replica)),
        "LOCAL_RANK": "0",
        "PYTHONUNBUFFERED": "1",
        "PET_NPROC_PER_NODE": str(max(1, gpus(crew.member(replica.role)))),
        "PET_MAX_RESTARTS": str(MOST_RESTARTS),
    }
    elastic = any(crew.member(role).elastic for role in RANKS if crew.of(role))
    return told | (_elastic(crew, ranked) if elastic else _static(crew, ranked, replica))


def reach(_spec: JobSpec) -> Reach:
    return Reach.RESTART


def _static(crew: Crew, ranked: list[Replica], replica: Replica) -> dict[str, str]:
    return {
        "PET_NNODES": str(len(ranked)),
        "PET_NODE_RANK": str(ranked.index(replica)),
        "PET_MASTER_ADDR": crew.address(ranked[0]),
        "PET_MASTER_PORT": str(crew.port(ranked[0], RENDEZVOUS)),
    }


def _elastic(crew: Crew, ranked: list[Replica]) -> dict[str, str]:
    least = sum(crew.member(role).replicas for role in RANKS if crew.of(role))
    return {
        "PET_NNODES": f"{min(least, len(ranked))}:{len(ranked)}",
        "PET_RDZV_BACKEND": "c10d",
        "PET_RDZV_ENDPOINT": crew.endpoint(ranked[0], RENDEZVOUS),
        "PET_RDZV_ID": f"{crew.job_id}-{crew.attempt}",
    }


RULES = Rules(
    framework=Framework.PYTORCH,
    roles=(
        RoleRule(role=Role.MASTER, most=1, ports={RENDEZVOUS: 23456}),
        RoleRule(role=Role.PSERVER, ports={RENDEZVOUS: 23456}),
        RoleRule(role=Role.WORKER, ports={RENDEZVOUS: 23456}, elastic=True),
    ),
    decisive=(frozenset(RANKS),),
    environment=environment,
    mode=modes.mode,
    check=modes.workers_wrong,
    reach=reach,
)
