"""Between objects of Kubernetes and what is known of them here."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from hashlib import blake2b
from typing import Any

from pf_csi.clients.domain import ClientPod, Machine
from pf_csi.kubernetes import Thing
from pf_csi.mount_objects import GROUP

TEMPLATE = f"{GROUP}/template"
"""A label of pods: what they were made of."""


def digest(template: Thing) -> str:
    return blake2b(json.dumps(template, sort_keys=True).encode(), digest_size=8).hexdigest()


def client_pod(template: Thing, name: str, machine: Machine) -> Thing:
    """The template says all but what it is called and where it runs; it goes with its machine.

    It is scheduled as pods of a DaemonSet are, so that others make room for it on a full machine. The template
    tolerates all: a machine that takes no more pods has to serve on.
    """
    metadata: Mapping[str, Any] = template["metadata"]
    owner = {"apiVersion": "v1", "kind": "Node", "name": machine.name, "uid": machine.uid, "controller": True}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            **metadata,
            "name": name,
            "labels": {**metadata["labels"], TEMPLATE: digest(template)},
            "ownerReferences": [owner],
        },
        "spec": {**template["spec"], "affinity": {"nodeAffinity": _only_at(machine)}},
    }


def read_pod(thing: Thing, now: datetime) -> ClientPod:
    metadata, status = thing["metadata"], thing["status"]
    phase = status.get("phase")
    return ClientPod(
        metadata["name"],
        _machine_of(thing),
        metadata.get("labels", {}).get(TEMPLATE, ""),
        ready=any(each["type"] == "Ready" and each["status"] == "True" for each in status.get("conditions", ())),
        finished=phase in {"Succeeded", "Failed"},
        failed_for=(now - _begun(thing)).total_seconds() if phase == "Failed" else None,
        ending="deletionTimestamp" in metadata,
        uid=metadata["uid"],
    )


def read_machines(nodes: Mapping[str, Thing], plugins: Mapping[str, Thing], driver: str) -> Mapping[str, Machine]:
    """`plugins`: objects CSINode, which tell where the driver is."""
    return {
        name: Machine(name, node["metadata"]["uid"], _takes_pods(node) and _has_driver(plugins.get(name), driver))
        for name, node in nodes.items()
    }


def _only_at(machine: Machine) -> Thing:
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [machine.name]}]}
    return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}


def _machine_of(thing: Thing) -> str:
    """Its owner: where it runs is not known while it waits for room."""
    owners: Iterable[Thing] = thing["metadata"].get("ownerReferences", ())
    scheduled_to: str = thing["spec"].get("nodeName", "")
    return next((owner["name"] for owner in owners if owner["kind"] == "Node"), scheduled_to)


def _begun(thing: Thing) -> datetime:
    return datetime.fromisoformat(thing["metadata"]["creationTimestamp"])


def _takes_pods(node: Thing) -> bool:
    return not node["spec"].get("unschedulable") and "deletionTimestamp" not in node["metadata"]


def _has_driver(plugins: Thing | None, driver: str) -> bool:
    return plugins is not None and any(each["name"] == driver for each in plugins["spec"].get("drivers") or ())
