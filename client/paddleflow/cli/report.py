"""Reports of machines, as people write them in a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from paddleflow.models.clusters import Node
from paddleflow.problems import InvalidArgument, Violation
from paddleflow.quantity import parse_resources, within

_KEYS = frozenset({"cluster", "revision", "nodes"})
_NODE_KEYS = frozenset({"name", "allocatable", "labels", "schedulable", "dedicatedQueue"})


@dataclass(frozen=True, slots=True)
class Report:
    """The machines of a cluster."""

    cluster: str
    revision: int
    """0: not told."""
    nodes: Sequence[Node]


def read_report(text: bytes) -> Report:
    """The report in this YAML (of which JSON is a part); raises InvalidArgument naming what is wrong with it."""
    import yaml  # noqa: PLC0415 -- one command needs it

    try:
        told = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise _refused("file", f"is neither YAML nor JSON: {error}") from error
    fields = _mapping(told, "file", _KEYS)
    nodes = fields.get("nodes")
    if not isinstance(fields.get("cluster"), str) or not isinstance(nodes, list):
        raise _refused("file", "needs `cluster: <name>` and `nodes: [...]`")
    revision = fields.get("revision", 0)
    if not isinstance(revision, int) or revision < 0:
        raise _refused("revision", f"{revision!r} is not a positive number")
    return Report(str(fields["cluster"]), revision, [_node(each, f"nodes[{at}]") for at, each in enumerate(nodes)])


def _node(told: object, place: str) -> Node:
    fields = _mapping(told, place, _NODE_KEYS)
    schedulable = fields.get("schedulable", True)
    if not isinstance(fields.get("name"), str):
        raise _refused(f"{place}.name", "is missing")
    if not isinstance(schedulable, bool):
        raise _refused(f"{place}.schedulable", f"{schedulable!r} is neither true nor false")
    with within(f"{place}.allocatable"):
        allocatable = parse_resources(_texts(fields.get("allocatable", {}), "quantities"))
    return Node(
        name=str(fields["name"]),
        allocatable=allocatable,
        labels=_texts(fields.get("labels", {}), f"{place}.labels"),
        schedulable=schedulable,
        dedicated_queue=str(fields.get("dedicatedQueue", "")),
    )


def _mapping(told: object, place: str, keys: frozenset[str]) -> Mapping[str, object]:
    if not isinstance(told, Mapping):
        raise _refused(place, f"is not a mapping of {', '.join(sorted(keys))}")
    unknown = sorted(str(key) for key in told.keys() - keys)
    if unknown:
        raise _refused(place, f"has no {', '.join(unknown)}; there are {', '.join(sorted(keys))}")
    return told


def _texts(told: object, place: str) -> dict[str, str]:
    if not isinstance(told, Mapping):
        raise _refused(place, "is not a mapping")
    return {str(key): str(value) for key, value in told.items()}


def _refused(field: str, description: str) -> InvalidArgument:
    return InvalidArgument.of(Violation(field, description))
