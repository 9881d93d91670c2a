"""The objects `Mount`, by which holders say for which mounts they need clients, and who serves them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b

from pf_csi.kubernetes import Kind, Thing

GROUP = "csi.paddleflow.org"
VERSION = f"{GROUP}/v1alpha1"
MACHINE = f"{GROUP}/machine"
"""A label; names of machines may be longer than one may be."""


@dataclass(frozen=True, slots=True)
class MountObject:
    """A mount of a machine that is to be served."""

    key: str
    machine: str
    volume: str
    pod: str = ""
    """Whoever serves it; empty: nobody does."""


def kind(namespace: str) -> Kind:
    return Kind(VERSION, "mounts", namespace)


def label(machine: str) -> str:
    return blake2b(machine.encode(), digest_size=8).hexdigest()


def manifest(mount: MountObject) -> Thing:
    return {
        "apiVersion": VERSION,
        "kind": "Mount",
        "metadata": {"name": mount.key, "labels": {MACHINE: label(mount.machine)}},
        "spec": {"machine": mount.machine, "volume": mount.volume},
    }


def status(pod: str) -> Thing:
    return {"status": {"pod": pod, "state": "Served" if pod else "Waiting"}}


def read(thing: Thing) -> MountObject:
    spec: Mapping[str, str] = thing["spec"]
    told = thing.get("status", {})
    return MountObject(thing["metadata"]["name"], spec["machine"], spec["volume"], told.get("pod", ""))
