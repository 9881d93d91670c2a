"""Volumes of tests, and pods that use them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kube.api import Thing
from kube.driver import CLASS, DRIVER, KEYS_SECRET
from kube.kubectl import Kubectl
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


def volume(name: str, claim: str, folder: str, kubectl: Kubectl, **more: Any) -> Thing:
    """A folder of the bucket, as an administrator gives it to a claim of this namespace."""
    handle, flags, secret = more.pop("handle", name), more.pop("flags", []), more.pop("secret", KEYS_SECRET)
    source = inline(folder, secret, **more)["csi"] | {"volumeHandle": handle}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteMany"],
            "persistentVolumeReclaimPolicy": "Retain",
            "storageClassName": "",
            "mountOptions": flags,
            "claimRef": {"namespace": kubectl.namespace, "name": claim},
            "csi": source | {"nodePublishSecretRef": {"name": secret, "namespace": kubectl.namespace}},
        },
    }


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
