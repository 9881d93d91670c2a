"""PaddlePaddle: parameter servers, collective, and elastic.

Every replica is one process, and may as well be the launcher of several: it finds the variables of both, old names and
new. A job whose `env` names an etcd (`PADDLE_ELASTIC_SERVER`, or `PADDLE_MASTER` with `etcd://`) is left to Paddle's
own elastic manager; without one the replicas of an elastic collective job are started again when their number changes.
"""

from __future__ import annotations

from collections.abc import Mapping

from pf_job.frameworks import modes
from pf_job.frameworks.rules import MOST_RESTARTS, Crew, Reach, Replica, RoleRule, Rules, gpus
from pf_job.specs.domain import Framework, JobSpec, Mode, Role

SERVER, TRAINER, GLOO, RENDEZVOUS, TASKS = "server", "trainer", "gloo", "rendezvous", "tasks"

ELASTIC_SERVER = "PADDLE_ELASTIC_SERVER"
MASTER = "PADDLE_MASTER"
ETCD = "etcd://"
TIMEOUT = "60"
"""Seconds that the old elastic manager waits for more hosts."""
LEASE = "60"
"""Seconds after which it takes a silent host for lost."""
PORTS = {Role.PSERVER: SERVER, Role.WORKER: TRAINER, Role.MASTER: TASKS}
TRAINING_ROLES = {Role.PSERVER: "PSERVER", Role.WORKER: "TRAINER", Role.MASTER: "MASTER"}


def environment(crew: Crew, replica: Replica) -> dict[str, str]:
    if modes.mode(crew.spec) is Mode.PS:
        return {**_address(crew, replica), **_parameter_servers(crew, replica), **_elastic(crew, replica)}
    return {**_address(crew, replica), **_collective(crew, replica), **_elastic(crew, replica)}


def reach(spec: JobSpec) -> Reach:
    """Workers of parameter servers need not know of one another, and etcd tells the others."""
    worker = spec.member(Role.WORKER)
    if modes.mode(spec) is Mode.PS or (worker and _has_etcd(worker.work.env)):
        return Reach.JOIN
    return Reach.RESTART


def _address(crew: Crew, replica: Replica) -> dict[str, str]:
    """Who this is, and who the trainers are."""
    role = TRAINING_ROLES[replica.role]
    workers = crew.of(Role.WORKER)
    return {
        "POD_IP": crew.address(replica),
        "PADDLE_PORT": str(crew.port(replica, PORTS[replica.role])),
        "PADDLE_JOB_ID": crew.job_id,
        "TRAINING_ROLE": role,
        "PADDLE_ROLE": role,
        "PADDLE_TRAINING_ROLE": role,
        "PADDLE_TRAINERS": ",".join(crew.address(worker) for worker in workers),
        "PADDLE_TRAINERS_NUM": str(len(workers)),
        "PADDLE_TRAINER_ENDPOINTS": ",".join(crew.endpoints(Role.WORKER, TRAINER)),
        "TRAINER_PORTS_NUM": "1",
    }


def _parameter_servers(crew: Crew, replica: Replica) -> dict[str, str]:
    servers, masters = crew.of(Role.PSERVER), crew.of(Role.MASTER)
    told = {
        "PADDLE_PSERVERS_IP_PORT_LIST": ",".join(crew.endpoints(Role.PSERVER, SERVER)),
        "PADDLE_SERVER_NUM": str(len(servers)),
        "PADDLE_TRAINER_NUM": str(len(crew.of(Role.WORKER))),
    }
    if servers:
        # 1: trainers meet over gloo; 3: by HTTP.
        told |= {"PADDLE_WITH_GLOO": "1", "PADDLE_GLOO_RENDEZVOUS": "3"}
        told["PADDLE_GLOO_HTTP_ENDPOINT"] = crew.endpoint(servers[0], GLOO)
    if masters:
        told |= {"MASTER_IP": crew.address(masters[0]), MASTER: crew.endpoint(masters[0], TASKS)}
    if replica.role is Role.WORKER:
        told |= {"PADDLE_TRAINER_ID": str(replica.index)}
    return told | {"PADDLE_CURRENT_ENDPOINT": crew.endpoint(replica, PORTS[replica.role])}


def _collective(crew: Crew, replica: Replica) -> dict[str, str]:
    workers, accelerators = crew.of(Role.WORKER), gpus(crew.member(replica.role))
    rank, size = str(replica.index), str(len(workers))
    told = {
        "PADDLE_TRAINER_ID": rank,
        "PADDLE_CURRENT_ENDPOINT": crew.endpoint(replica, TRAINER),
        "PADDLE_RANK_IN_NODE": "0",
        "PADDLE_GLOBAL_RANK": rank,
        "PADDLE_GLOBAL_SIZE": size,
        "PADDLE_LOCAL_RANK": "0",
        "PADDLE_LOCAL_SIZE": "1",
        MASTER: crew.endpoint(workers[0], RENDEZVOUS),
        "PADDLE_NNODES": size,
        "PADDLE_RANK": rank,
        "PADDLE_MAX_RESTART": str(MOST_RESTARTS),
    }
    if accelerators:
        return told | {"FLAGS_selected_gpus": ",".join(map(str, range(accelerators)))}
    return told | {"PADDLE_DISTRI_BACKEND": "gloo"}


def _elastic(crew: Crew, replica: Replica) -> dict[str, str]:
    worker = crew.member(Role.WORKER)
    if not worker.elastic:
        return {}
    some = f"{worker.replicas}:{worker.most}"
    told = {
        "PADDLE_ELASTIC_JOB_ID": crew.job_id,
        "PADDLE_ELASTIC_NP": some,
        "PADDLE_ELASTIC_TIMEOUT": TIMEOUT,
        "PADDLE_ELASTIC_TTL": LEASE,
        # 2: the number of trainers may change. The name is spelled so by those who read it.
        "PADDLE_ELASTIC_FAULT_TOLERANC_LEVEL": "2",
    }
    if not _has_etcd(crew.env(replica)):
        return told
    # 1: the launcher starts its processes again by itself.
    return told | {"PADDLE_NNODES": some, "PADDLE_ELASTIC_LEVEL": "1"}


def _has_etcd(env: Mapping[str, str]) -> bool:
    return bool(env.get(ELASTIC_SERVER)) or env.get(MASTER, "").startswith(ETCD)


RULES = Rules(
    framework=Framework.PADDLE,
    roles=(
        RoleRule(role=Role.MASTER, most=1, stage=0, ports={TASKS: 8080}),
        RoleRule(role=Role.PSERVER, stage=1, ports={SERVER: 36000, GLOO: 36018}),
        RoleRule(role=Role.WORKER, stage=2, ports={TRAINER: 36000, RENDEZVOUS: 36001}, elastic=True),
    ),
    decisive=(frozenset({Role.WORKER}),),
    environment=environment,
    mode=modes.mode,
    check=modes.workers_wrong,
    reach=reach,
    # 101 and 102 are how Paddle's elastic manager and its auto-parallel tuner ask for it.
    asks_restart=frozenset({101, 102}),
    # Its launcher takes replicas of one address for one host, and lets each train alone.
    hosts=True,
)
