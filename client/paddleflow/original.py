"""Words and shapes of the original client, for the compatible interface and for the command line."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NoReturn, TypeAlias, TypeVar, cast

from paddleflow.models.clusters import Cluster, ClusterChanges, ClusterStatus, ClusterType, Node
from paddleflow.models.filesystems import Filesystem
from paddleflow.models.queues import Isolation, OrderPolicy, Queue
from paddleflow.problems import InvalidArgument, Violation
from paddleflow.quantity import CPU, MEMORY, format_amount, format_resources, parse_resources

PARENT_KEY = "paddleflow.baidu.com/elastic-resource-quota-parent"
ISOLATION_KEY = "paddleflow.baidu.com/resource-isolation-type"
HIDDEN = "***"
"""Stands for a secret."""
ROOT_QUOTA = "root"
"""What the original calls the place above all queues; here that place has no queue."""

# Every queue goes by these two, always; the original lets one say so.
_GIVEN_POLICIES = frozenset({"priority", "weight"})

E = TypeVar("E", bound=StrEnum)
Json: TypeAlias = "str | int | bool | Mapping[str, Json] | Sequence[Json] | None"
OriginalResources: TypeAlias = dict[str, "str | dict[str, str]"]


def member(kind: type[E], word: str, field: str) -> E:
    """The member that the word names, whatever its case; raises InvalidArgument listing the words there are."""
    found = next((each for each in kind if each and each.lower() == word.lower()), None)
    if found is None:
        words = ", ".join(each for each in kind if each)
        raise InvalidArgument.of(Violation(field, f"{word!r} is not one of {words}"))
    return found


def original_time(moment: datetime | None) -> str:
    """The moment in the time of this machine."""
    return moment.astimezone().isoformat(timespec="seconds") if moment else ""


def original_resources(amounts: Mapping[str, int] | None) -> OriginalResources:
    """Amounts as the original writes them: ``{"cpu": …, "mem": …, "scalarResources": {…}}``; empty if not known."""
    if amounts is None:
        return {}
    shape: OriginalResources = {"cpu": format_amount(CPU, amounts.get(CPU, 0))}
    shape["mem"] = format_amount(MEMORY, amounts.get(MEMORY, 0))
    scalars = {name: text for name, text in format_resources(amounts).items() if name not in (CPU, MEMORY)}
    if scalars:
        shape["scalarResources"] = scalars
    return shape


def _mapping(field: str, value: object) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise InvalidArgument.of(Violation(field, "is not a mapping, as in {'cpu': '4', 'mem': '8Gi'}"))
    return value


def parse_original_resources(shape: Mapping[str, object]) -> dict[str, int]:
    """The amounts of such a shape; resources may also stand beside cpu and mem."""
    told = _mapping("resources", shape)
    scalars = _mapping("scalarResources", told.get("scalarResources") or {})
    named = {key: str(value) for key, value in told.items() if key != "scalarResources" and value is not None}
    return parse_resources(named | {str(key): str(value) for key, value in scalars.items()})


@dataclass(frozen=True, slots=True)
class Location:
    """What the original's ``location`` of a queue says."""

    parent: str | None
    """None: not told."""
    isolation: Isolation | None
    labels: Mapping[str, str]
    """All the rest; an empty value takes a label away."""


def read_location(pairs: Mapping[str, str]) -> Location:
    if not isinstance(pairs, Mapping):
        raise InvalidArgument.of(Violation("location", "is not a mapping of texts"))
    parent, isolation = pairs.get(PARENT_KEY), pairs.get(ISOLATION_KEY)
    return Location(
        parent="" if parent == ROOT_QUOTA else parent,
        isolation=member(Isolation, isolation, ISOLATION_KEY) if isolation else None,
        labels={key: value for key, value in pairs.items() if key not in (PARENT_KEY, ISOLATION_KEY)},
    )


def original_location(queue: Queue) -> dict[str, str]:
    places = {PARENT_KEY: queue.parent, ISOLATION_KEY: str(queue.isolation)}
    return dict(queue.labels) | {key: value for key, value in places.items() if value}


def read_policies(names: Iterable[str]) -> OrderPolicy | None:
    """The order among the scheduling policies named; None if none of them tells of order."""
    wanted = [name for name in names if name not in _GIVEN_POLICIES]
    if len(wanted) > 1:
        raise InvalidArgument.of(Violation("policy", f"{' and '.join(wanted)} exclude each other"))
    return member(OrderPolicy, wanted[0], "policy") if wanted else None


def original_policies(queue: Queue) -> list[str]:
    return ["priority", str(queue.order_policy)] if queue.order_policy else ["priority"]


def idle(queue: Queue) -> dict[str, int] | None:
    """What the queue could still take: its ceiling without what is used; None if that is not known."""
    if (used := queue.used) is None:
        return None
    return {name: max(0, amount - used.get(name, 0)) for name, amount in queue.effective_max.items()}


def cluster_fields(
    clustertype: str | None,
    status: str | None,
    namespaces: Sequence[str] | None,
    credential: bytes | None,
    **texts: str | None,
) -> ClusterChanges:
    """The fields of a cluster that are given, that is, not None; the type and the status come as words."""
    fields = {
        **texts,
        "type": member(ClusterType, clustertype, "clusterType") if clustertype else None,
        "status": member(ClusterStatus, status, "status") if status else None,
        "namespaces": namespaces,
        "credential": credential,
    }
    if setting := texts.get("setting"):
        _require_object("setting", setting)
    return cast("ClusterChanges", {name: value for name, value in fields.items() if value is not None})


def _require_object(field: str, text: str) -> None:
    def refuse(word: str) -> NoReturn:
        raise ValueError(f"{word} is no JSON")

    try:
        told = json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise InvalidArgument.of(Violation(field, f"is not JSON: {error}")) from error
    if not isinstance(told, dict):
        raise InvalidArgument.of(Violation(field, "is not a JSON object"))


def cluster_resources(cluster: Cluster, nodes: Sequence[Node], queues: Sequence[Queue] | None) -> dict[str, Json]:
    """Totals of a cluster and of its machines.

    What is idle in the cluster is told if all its queues are given, and what they use: its capacity without what the
    top queues hold of it. What is idle on one machine is not known here.
    """
    summary: dict[str, Json] = {"total": original_resources(cluster.capacity)}
    if queues is not None and (left := _left(cluster, queues)) is not None:
        summary["idle"] = original_resources(left)
    return {
        "summary": summary,
        "nodeList": [
            {"nodeName": node.name, "schedulable": node.schedulable, "total": original_resources(node.allocatable)}
            for node in nodes
        ],
    }


def _left(cluster: Cluster, queues: Sequence[Queue]) -> dict[str, int] | None:
    sum_: Counter[str] = Counter()
    for queue in queues:
        if queue.parent or queue.isolation is Isolation.PHYSICAL:
            continue
        if queue.used is None:
            return None
        sum_.update(queue.used)
    return {name: max(0, amount - sum_[name]) for name, amount in cluster.capacity.items()}


@dataclass(frozen=True, slots=True)
class OriginalFilesystem:
    """What the original tells of a filesystem's URL."""

    server_address: str
    """Empty for a folder of the machine."""
    sub_path: str
    properties: Mapping[str, str]
    """Of secrets only that they are set."""


def original_filesystem(filesystem: Filesystem) -> OriginalFilesystem:
    server, slash, path = filesystem.url.partition("://")[2].partition("/")
    hidden = dict.fromkeys(filesystem.secret_properties, HIDDEN)
    return OriginalFilesystem(server, slash + path, dict(filesystem.properties) | hidden)


def node_resources(cluster: str, queue: str, nodes: Sequence[Node]) -> dict[str, Json]:
    """The machines of one cluster: what workloads can have of each, and its labels."""
    return {
        "clusterName": cluster,
        **({"queueName": queue} if queue else {}),
        "capacity": {node.name: format_resources(node.allocatable) for node in nodes},
        "labels": {node.name: dict(node.labels) for node in nodes},
    }
