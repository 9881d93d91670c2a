"""Ray: a head (the master) that runs the entry point, and workers that join it.

The command of the master, or `RAY_JOB_ENTRY_POINT`, runs when the head is up; the head goes down with it, and its exit
status is the job's. Without either the head stays until it is stopped. `RAY_JOB_HEADER_START_PARAMS_…` and
`RAY_JOB_WORKER_START_PARAMS_…` are options of `ray start`; so are arguments of the form `name:value` of a member
without a command.
"""

from __future__ import annotations

import json
import re
import shlex
from base64 import b64decode
from binascii import Error as NoBase64
from collections.abc import Iterator, Mapping, Sequence

from paddleflow.problems import Violation
from pf_job.frameworks.modes import centre_and_workers_wrong
from pf_job.frameworks.rules import Crew, Replica, RoleRule, Rules
from pf_job.specs.commands import argv, shell_text
from pf_job.specs.domain import Framework, JobSpec, Role
from pf_job.specs.magic_ray import ENTRY_POINT, HEADER, RUNTIME_ENV, START_PARAMS, WORKER

GCS, DASHBOARD, CLIENT = "gcs", "dashboard", "client"

_OPTION = re.compile(r"(?P<name>[a-z][a-z0-9-]*):(?P<value>.*)", re.DOTALL)


def environment(crew: Crew, replica: Replica) -> dict[str, str]:
    head = crew.of(Role.MASTER)[0]
    address = crew.address(head)
    told = {
        "FQ_RAY_IP": address,
        "RAY_IP": address,
        "RAY_PORT": str(crew.port(head, GCS)),
        "RAY_ADDRESS": crew.endpoint(head, GCS),
        "RAY_CLUSTER_NAME": crew.job_id,
        "REDIS_PASSWORD": "",
        "RAY_USAGE_STATS_KUBERAY_IN_USE": "0",
    }
    if replica.role is Role.WORKER:
        return told
    told |= {
        "RAY_DASHBOARD_ADDRESS": f"http://{crew.endpoint(head, DASHBOARD)}",
        "RAY_JOB_SUBMISSION_ID": f"{crew.job_id}-{crew.attempt}",
    }
    runtime = _runtime_env(crew.env(replica))
    return told | ({"RAY_JOB_CONFIG_JSON_ENV_VAR": json.dumps({"runtime_env": runtime})} if runtime else {})


def program(crew: Crew, replica: Replica) -> tuple[str, ...]:
    return _head(crew, replica) if replica.role is Role.MASTER else _worker(crew, replica)


def wrong(spec: JobSpec) -> Iterator[Violation]:
    yield from centre_and_workers_wrong(spec)
    for place, env in (("", spec.work.env), *((f"members[{at}].", m.work.env) for at, m in enumerate(spec.members))):
        if env.get(RUNTIME_ENV) and _runtime_env(env) is None:
            yield Violation(f"{place}env.{RUNTIME_ENV}", "must be a JSON object in base64")


def _head(crew: Crew, replica: Replica) -> tuple[str, ...]:
    work = crew.member(Role.MASTER).work
    start = [
        *("ray", "start", "--head", f"--node-ip-address={crew.address(replica)}"),
        f"--port={crew.port(replica, GCS)}",
        f"--dashboard-port={crew.port(replica, DASHBOARD)}",
        f"--ray-client-server-port={crew.port(replica, CLIENT)}",
        *("--dashboard-host=0.0.0.0", "--disable-usage-stats"),
        *_options(work.env, HEADER, () if work.command else work.args),
    ]
    entry = work.command or work.env.get(ENTRY_POINT, "")
    if entry:
        args = work.args if work.command else ()
        text = shell_text(entry)
        return ("sh", "-c", _around(start), f'{text.rstrip()} "$@"' if args else text, *args)
    return argv(work) if _is_program(work.args) else (*start, "--block")


def _around(start: Sequence[str]) -> str:
    """Starts the head, then runs the text it has as `$0`. When that ends, all that a replica started ends with it."""
    return f'{shlex.join(start)} || exit; exec sh -c "$0" sh "$@"'


def _worker(crew: Crew, replica: Replica) -> tuple[str, ...]:
    work, head = crew.member(Role.WORKER).work, crew.of(Role.MASTER)[0]
    if work.command or _is_program(work.args):
        return argv(work)
    start = ("ray", "start", f"--address={crew.endpoint(head, GCS)}", f"--node-ip-address={crew.address(replica)}")
    return (*start, "--disable-usage-stats", *_options(work.env, WORKER, work.args), "--block")


def _options(env: Mapping[str, str], prefix: str, args: Sequence[str]) -> list[str]:
    family = f"{prefix}{START_PARAMS}"
    named = {
        name.removeprefix(family).lower().replace("_", "-"): value
        for name, value in env.items()
        if name.startswith(family)
    }
    told = [_OPTION.fullmatch(argument) for argument in args]
    named |= {match["name"]: match["value"].strip().strip("'") for match in told if match}
    return [f"--{name}={value}" for name, value in named.items()]


def _is_program(args: Sequence[str]) -> bool:
    return any(not _OPTION.fullmatch(argument) for argument in args)


def _runtime_env(env: Mapping[str, str]) -> Mapping[str, object] | None:
    try:
        told = json.loads(b64decode(env.get(RUNTIME_ENV, ""), validate=True) or b"null")
    except (NoBase64, ValueError, RecursionError):
        return None
    return told if isinstance(told, dict) else None


RULES = Rules(
    framework=Framework.RAY,
    roles=(
        RoleRule(
            role=Role.MASTER,
            most=1,
            stage=0,
            ports={GCS: 6379, DASHBOARD: 8265, CLIENT: 10001},
            self_starting=True,
        ),
        RoleRule(role=Role.WORKER, stage=1, elastic=True, vital=False, self_starting=True),
    ),
    decisive=(frozenset({Role.MASTER}),),
    environment=environment,
    program=program,
    check=wrong,
)
