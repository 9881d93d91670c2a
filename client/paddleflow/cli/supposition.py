"""What is to be supposed in a simulation, as people write it in a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from paddleflow.cli.documents import each, mapping, name, number, read_yaml, refused, resources
from paddleflow.cli.parameters import duration
from paddleflow.cli.report import NODE_KEYS, read_node
from paddleflow.models.admission import GoneNode
from paddleflow.models.clusters import Node
from paddleflow.models.queues import OrderPolicy, PreemptionPolicy, Queue
from paddleflow.models.workloads import RoleRequest, Workload, WorkloadKey
from paddleflow.original import member
from paddleflow.quantity import parse_amount, resource_name, within

USUAL_ROLE = "worker"
_KEYS = frozenset({"workloads", "queues", "nodes", "gone"})
_ROLE_KEYS = frozenset({"replicas", "maxReplicas", "step", "resources"})
_WORKLOAD_KEYS = frozenset({"job", "attempt", "queue", "user", "priority", "roles", "gracePeriod", "minRunTime"})
_AMOUNTS = {"min": "min", "max": "max", "lendLimit": "lend_limit", "maxPerUser": "max_per_user"}
_NUMBERS = {
    "weight": "weight",
    "priority": "priority",
    "maxJobs": "max_jobs",
    "maxJobsPerUser": "max_jobs_per_user",
}
_QUEUE_KEYS = frozenset({"name", "preemption", "policy", *_AMOUNTS, *_NUMBERS})

QueueChange = Callable[[Queue], Queue]


@dataclass(frozen=True, slots=True)
class Supposition:
    """What would be done."""

    workloads: Sequence[Workload] = ()
    queues: Sequence[tuple[str, QueueChange]] = ()
    """By name, what would be different of a queue."""
    nodes: Sequence[Node] = ()
    gone: Sequence[GoneNode] = ()


def read_supposition(text: bytes, user: str) -> Supposition:
    """What the file says, where workloads of which it does not say whose they are belong to this user."""
    fields = mapping(read_yaml(text), "file", _KEYS)
    found = Supposition(
        workloads=each(fields, "workloads", lambda told, place: _workload(told, place, user)),
        queues=each(fields, "queues", _queue),
        nodes=each(fields, "nodes", _node),
        gone=each(fields, "gone", _gone),
    )
    if found == Supposition([], [], [], []):
        raise refused("file", f"supposes nothing; it may have {', '.join(sorted(_KEYS))}")
    return found


def _workload(told: object, place: str, user: str) -> Workload:
    fields = mapping(told, place, _WORKLOAD_KEYS | _ROLE_KEYS)
    return Workload(
        key=WorkloadKey(
            str(fields.get("job", place.replace("[", "-").rstrip("]"))), number(fields, "attempt", place, 1)
        ),
        queue=name(fields, "queue", place),
        user=str(fields.get("user", user)),
        roles=_roles(fields, place),
        priority=number(fields, "priority", place, 0),
        grace_period=duration(f"{place}.gracePeriod", str(fields.get("gracePeriod", "0s"))),
        min_run_time=duration(f"{place}.minRunTime", str(fields.get("minRunTime", "0s"))),
    )


def _roles(fields: Mapping[str, object], place: str) -> list[RoleRequest]:
    """The roles told by name; one, if replicas and resources stand beside the workload's other fields."""
    told = fields.get("roles", {})
    if "roles" not in fields:
        return [_role(USUAL_ROLE, {key: fields[key] for key in sorted(_ROLE_KEYS & fields.keys())}, place)]
    if both := sorted(_ROLE_KEYS & fields.keys()):
        raise refused(place, f"has roles, so {', '.join(both)} belong into each of them")
    if not isinstance(told, Mapping):
        raise refused(f"{place}.roles", "is not a mapping, as in `roles: {worker: {replicas: 2}}`")
    return [_role(str(role), its, f"{place}.roles.{role}") for role, its in told.items()]


def _role(role: str, told: object, place: str) -> RoleRequest:
    fields = mapping(told, place, _ROLE_KEYS)
    return RoleRequest(
        role=role,
        min_replicas=number(fields, "replicas", place, 1),
        max_replicas=number(fields, "maxReplicas", place, 0),
        surplus_step=number(fields, "step", place, 0),
        per_replica=resources(fields.get("resources", {}), f"{place}.resources"),
    )


def _queue(told: object, place: str) -> tuple[str, QueueChange]:
    fields = mapping(told, place, _QUEUE_KEYS)
    amounts = {key: _changes(fields[key], f"{place}.{key}") for key in _AMOUNTS if key in fields}
    plain = {_NUMBERS[key]: number(fields, key, place, 0) for key in _NUMBERS if key in fields}
    policies: dict[str, object] = {}
    if "preemption" in fields:
        policies["preemption_policy"] = member(PreemptionPolicy, str(fields["preemption"]), f"{place}.preemption")
    if "policy" in fields:
        policies["order_policy"] = member(OrderPolicy, str(fields["policy"]), f"{place}.policy")

    def change(queue: Queue) -> Queue:
        merged = {_AMOUNTS[key]: _merged(getattr(queue, _AMOUNTS[key]), changes) for key, changes in amounts.items()}
        return replace(queue, **merged, **plain, **policies)  # type: ignore[arg-type]  # fields by their names

    return name(fields, "name", place), change


def _changes(told: object, place: str) -> dict[str, int | None]:
    """Amounts by resource; None for one that would be taken away."""
    if not isinstance(told, Mapping):
        raise refused(place, "is not a mapping of resources, as in {cpu: 8}")
    with within(place):
        return {
            resource_name(str(key)): None if value is None else parse_amount(str(key), str(value))
            for key, value in told.items()
        }


def _merged(amounts: Mapping[str, int], changes: Mapping[str, int | None]) -> dict[str, int]:
    return {key: value for key, value in {**amounts, **changes}.items() if value is not None}


def _node(told: object, place: str) -> Node:
    fields = mapping(told, place, NODE_KEYS | {"cluster"})
    node = read_node({key: value for key, value in fields.items() if key != "cluster"}, place)
    return replace(node, cluster=name(fields, "cluster", place))


def _gone(told: object, place: str) -> GoneNode:
    fields = mapping(told, place, frozenset({"cluster", "name"}))
    return GoneNode(name(fields, "cluster", place), name(fields, "name", place))
