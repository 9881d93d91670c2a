"""Reports of machines, as people write them in a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from paddleflow.cli.documents import mapping, read_yaml, refused, resources, texts
from paddleflow.models.clusters import Node

_KEYS = frozenset({"cluster", "revision", "nodes"})
NODE_KEYS = frozenset({"name", "allocatable", "labels", "schedulable", "dedicatedQueue"})


@dataclass(frozen=True, slots=True)
class Report:
    """The machines of a cluster."""

    cluster: str
    revision: int
    """0: not told."""
    nodes: Sequence[Node]


def read_report(text: bytes) -> Report:
    """The report in this YAML (of which JSON is a part); raises InvalidArgument naming what is wrong with it."""
    fields = mapping(read_yaml(text), "file", _KEYS)
    nodes = fields.get("nodes")
    if not isinstance(fields.get("cluster"), str) or not isinstance(nodes, list):
        raise refused("file", "needs `cluster: <name>` and `nodes: [...]`")
    revision = fields.get("revision", 0)
    if not isinstance(revision, int) or revision < 0:
        raise refused("revision", f"{revision!r} is not a positive number")
    return Report(str(fields["cluster"]), revision, [read_node(each, f"nodes[{at}]") for at, each in enumerate(nodes)])


def read_node(told: object, place: str) -> Node:
    fields = mapping(told, place, NODE_KEYS)
    schedulable = fields.get("schedulable", True)
    if not isinstance(fields.get("name"), str):
        raise refused(f"{place}.name", "is missing")
    if not isinstance(schedulable, bool):
        raise refused(f"{place}.schedulable", f"{schedulable!r} is neither true nor false")
    return Node(
        name=str(fields["name"]),
        allocatable=resources(fields.get("allocatable", {}), f"{place}.allocatable"),
        labels=texts(fields.get("labels", {}), f"{place}.labels"),
        schedulable=schedulable,
        dedicated_queue=str(fields.get("dedicatedQueue", "")),
    )
