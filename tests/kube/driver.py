"""The CSI driver on the cluster, installed as users do, from images that are made as theirs are."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kube import images, rootfs
from kube.api import Thing
from kube.cluster import Cluster
from kube.helm import Helm, Values
from kube.identities import NODE
from kube.layout import KUBELET
from kube.parts import PROGRAMS
from kube.storage import BUCKET, ENDPOINT
from support.s3_servers import KEYS
from support.waiting import wait_until

DRIVER = "csi.paddleflow.org"
NAMESPACE = "paddleflow-csi"
REPOSITORY, TAG = "registry.invalid/paddleflow-csi", "test"
SIDECARS = ("csi-provisioner", "csi-resizer")
KEY_PAIR = {"accessKey": KEYS.access, "secretKey": KEYS.secret}
KEYS_SECRET = "keys"
CLASS = "objects"
RUN = os.environ.get("KUBE_CLIENTS", "pods")
"""What clients are: pods, as users have them unless they say otherwise, or processes of the holder."""


def local(repository: str, tag: str = "test") -> dict[str, str]:
    """An image that the node has already."""
    return {"repository": repository, "tag": tag, "pullPolicy": "Never"}


def values(run: str = RUN, **parts: Values) -> dict[str, Any]:
    """Of a cluster whose volumes are made in one bucket, and what is said of parts of the driver beside that."""
    store = {"url": f"s3://{BUCKET}/made", "properties": {"endpoint": ENDPOINT, **KEY_PAIR}}
    csi: dict[str, Any] = {
        "logLevel": "debug",
        "image": local(REPOSITORY, TAG),
        "sidecars": {name.removeprefix("csi-"): {"image": local(f"registry.invalid/{name}")} for name in SIDECARS},
        "clients": {"run": run},
        "holder": {"terminationGracePeriodSeconds": 20},
        "controller": {"stores": {"bucket": store}},
        "storageClasses": [{"name": CLASS, "store": "bucket", "secret": {"name": KEYS_SECRET}}],
    }
    return {"csi": csi | {part: {**csi.get(part, {}), **said} for part, said in parts.items()}}


def secret(name: str, texts: Mapping[str, str]) -> Thing:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": dict(texts)}


class Driver:
    """As a release of Helm."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self.cluster = cluster
        self.helm = Helm(folder)
        self.kubectl = cluster.kubectl.within(NAMESPACE)
        self._folder = folder
        self._run = RUN

    def load(self) -> None:
        self.cluster.load(rootfs.archive("csi", f"{REPOSITORY}:{TAG}"))
        for name in SIDECARS:
            self.cluster.load(images.write_program(self._folder, f"registry.invalid/{name}:test", PROGRAMS / name))

    def install(self, run: str = RUN, **parts: Values) -> None:
        """As `values` say; what is installed already is changed."""
        privileged = {"pod-security.kubernetes.io/enforce": "privileged"}
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": privileged}}
        self.kubectl.apply(namespace)
        self.kubectl.apply(secret(KEYS_SECRET, KEY_PAIR))
        self.helm.install(self.cluster.machine, NAMESPACE, values(run, **parts))
        self._run = run
        wait_until(lambda: DRIVER in self.registered(), patience=120)

    def turn_to(self, run: str) -> None:
        """Clients are that from now on; nothing may be mounted."""
        if run != self._run:
            self.install_anew(run)

    def install_anew(self, run: str = RUN, **parts: Values) -> None:
        """Nothing may be mounted."""
        # Otherwise Helm would wait for a holder with clients as processes, which is replaced by hand.
        self.helm.uninstall(self.cluster.machine, NAMESPACE)
        self.install(run, **parts)

    def registered(self) -> list[str]:
        """Drivers that the kubelet knows."""
        found = self.cluster.api.find(f"/apis/storage.k8s.io/v1/csinodes/{NODE}")
        drivers = found["spec"].get("drivers") or [] if found else []
        return [driver["name"] for driver in drivers]

    def pods(self, part: str) -> list[Thing]:
        """Those of a part that live."""
        chosen = f"labelSelector=app.kubernetes.io/component%3D{part}"
        found = self.cluster.api.items(f"/api/v1/pods?{chosen}")
        return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]

    def restarts(self) -> int:
        """Of containers that hold mounts or serve them."""
        pods = [*self.pods("csi-holder"), *self.pods("csi-client")]
        return sum(status["restartCount"] for pod in pods for status in pod["status"]["containerStatuses"])

    def mounts(self) -> list[str]:
        """Where its mounts are; one that lies upon another counts as well."""
        lines = self.cluster.machine.run(["cat", "/proc/self/mountinfo"]).splitlines()
        places = [line.split()[4] for line in lines if "fuse.paddleflow" in line]
        # Others of this computer were there already when the machine was switched on.
        return sorted(place for place in places if place.startswith(f"{KUBELET}/"))

    def published(self, pod: str = "") -> int:
        """How often the kubelet asked for volumes of the pod with this uid, or of any."""
        logs = f"cat /var/log/pods/{NAMESPACE}_*-csi-node-*/node/*.log"
        lines = self.cluster.machine.run(["sh", "-c", logs]).splitlines()
        return sum("/csi.v1.Node/NodePublishVolume" in line and pod in line for line in lines)
