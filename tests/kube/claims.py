"""Volumes of tests, and pods that use them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kube.api import Thing
from kube.driver import CLASS, DRIVER
from kube.pods import pod
from kube.storage import BUCKET, ENDPOINT

AT = "/data"


def claim(name: str, size: str = "1Gi", class_name: str = CLASS) -> Thing:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name},
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "storageClassName": class_name,
            "resources": {"requests": {"storage": size}},
        },
    }


def claimed(name: str, **more: Any) -> Thing:
    return {"persistentVolumeClaim": {"claimName": name, **more}}


def inline(folder: str, secret: str, *, bucket: str = BUCKET, **more: Any) -> Thing:
    """A folder of a bucket, as a pod brings it."""
    attributes = {"url": f"s3://{bucket}/{folder}", "endpoint": ENDPOINT}
    return {"csi": {"driver": DRIVER, "volumeAttributes": attributes, "nodePublishSecretRef": {"name": secret}, **more}}


def user(
    name: str,
    volume: Thing,
    *,
    mounting: Mapping[str, Any] | None = None,
    security: Mapping[str, Any] | None = None,
    command: Sequence[str] = (),
) -> Thing:
    """A pod that sees the volume at `/data`."""
    mounts = [{"name": "volume", "mountPath": AT, **(mounting or {})}]
    made = pod(name, command, volumeMounts=mounts) if command else pod(name, volumeMounts=mounts)
    made["spec"]["volumes"] = [{"name": "volume", **volume}]
    if security:
        made["spec"]["securityContext"] = dict(security)
    return made
