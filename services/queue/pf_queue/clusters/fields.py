"""What the fields of clusters, machines and flavours may hold."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from paddleflow.problems import Violation
from pf_kit.fields import dns_label, plain_text, shown
from pf_queue.clusters.domain import Cluster, ClusterType, Flavour, Machines, Node
from pf_queue.fields import amounts, labels
from pf_queue.resources import CPU, LARGEST, MEMORY

CLUSTER_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,253}[A-Za-z0-9_]")
FLAVOUR_NAME = re.compile(r"[A-Za-z0-9._-]{1,63}")
MOST_NODES = 20_000
MOST_NAMESPACES = 1_000
NODE_NAME_LENGTH = 253
TEXT_LENGTH = 1_024
SETTING_LENGTH = 64 * 1024
CREDENTIAL_LENGTH = 256 * 1024
"""A kubeconfig with embedded certificates has some 10 KiB for each context."""


def cluster_violations(cluster: Cluster) -> Iterator[Violation]:
    """What is wrong with the fields of a cluster."""
    if not CLUSTER_NAME.fullmatch(cluster.name):
        rule = "2 to 255 letters, digits, '-' and '_', beginning and ending with a letter, digit or '_'"
        yield Violation("cluster.name", f"must be {rule}")
    for name in ("description", "endpoint", "software_version", "source"):
        yield from plain_text(f"cluster.{name.removeprefix('software_')}", getattr(cluster, name), TEXT_LENGTH)
    if cluster.type is ClusterType.KUBERNETES:
        for name, value in (("endpoint", cluster.endpoint), ("version", cluster.software_version)):
            if not value:
                yield Violation(f"cluster.{name}", "must be set for a cluster of Kubernetes")
    yield from _setting_violations(cluster.setting)
    yield from _namespace_violations(cluster.namespaces)


def _setting_violations(setting: str) -> Iterator[Violation]:
    field = "cluster.setting"
    if len(setting) > SETTING_LENGTH:
        yield Violation(field, f"must have at most {SETTING_LENGTH} characters, and has {len(setting)}")
    elif setting and not _is_object(setting):
        yield Violation(field, "must be a JSON object, or empty")


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text, parse_constant=_no_json), dict)
    except (ValueError, RecursionError):
        return False


def _no_json(word: str) -> None:
    """Python reads NaN and Infinity, which JSON does not have."""
    raise ValueError(f"{word} is no JSON")


def _namespace_violations(namespaces: Sequence[str]) -> Iterator[Violation]:
    field = "cluster.namespaces"
    if len(namespaces) > MOST_NAMESPACES:
        yield Violation(field, f"must be at most {MOST_NAMESPACES}, and are {len(namespaces)}")
        return
    for index, namespace in enumerate(namespaces):
        yield from dns_label(f"{field}[{index}]", namespace)
    if len(set(namespaces)) < len(namespaces):
        yield Violation(field, "must not name a namespace twice")


def credential_violations(credential: bytes) -> Iterator[Violation]:
    """What is wrong with a credential."""
    if len(credential) > CREDENTIAL_LENGTH:
        yield Violation("cluster.credential", f"must have at most {CREDENTIAL_LENGTH} bytes, and has {len(credential)}")


def flavour_violations(flavour: Flavour) -> Iterator[Violation]:
    """What is wrong with the fields of a flavour."""
    if not FLAVOUR_NAME.fullmatch(flavour.name):
        yield Violation("flavour.name", "must be 1 to 63 letters, digits, '-', '_' and '.'")
    yield from amounts("flavour.resources", flavour.resources)
    for name in (CPU, MEMORY):
        if not flavour.resources.amount(name):
            yield Violation(f"flavour.resources.amounts.{name}", "must be above 0")


def node_violations(nodes: Sequence[Node]) -> Iterator[Violation]:
    """What is wrong with a report of machines."""
    seen: set[str] = set()
    for index, node in enumerate(nodes):
        yield from _one_node_violations(f"nodes[{index}]", node)
        if node.name in seen:
            yield Violation(f"nodes[{index}].name", f"must be unique, and {shown(node.name)} came before")
        seen.add(node.name)


def _one_node_violations(field: str, node: Node) -> Iterator[Violation]:
    if not 0 < len(node.name) <= NODE_NAME_LENGTH or not node.name.isprintable():
        yield Violation(f"{field}.name", f"must be 1 to {NODE_NAME_LENGTH} printable characters")
    yield from amounts(f"{field}.allocatable", node.allocatable)
    yield from labels(f"{field}.labels", node.labels)
    if node.dedicated_queue:
        yield from dns_label(f"{field}.dedicated_queue", node.dedicated_queue)


def machines_violations(count: int, machines: Machines) -> Iterator[Violation]:
    """What is wrong with so many machines and their sums: amounts have their limit in sums too."""
    if count > MOST_NODES:
        yield Violation("nodes", f"must be at most {MOST_NODES} in a cluster, and are {count}")
    for pool in (machines.capacity, *machines.dedicated.values()):
        for name, amount in pool.items():
            if amount > LARGEST:
                yield Violation("nodes", f"must not have more than 10^18 of {name} together, and have {amount}")
