"""What the kernel knows of targets, should the journal have been lost: what is bound there, and of which mount."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from paddleflow.mountinfo import Mount, Mounts
from pf_csi.held import SOURCE, Held
from pf_csi.node.domain import Entry

SUBPATHS = "volume-subpaths"
"""Below a pod's folder: where the kubelet puts folders of its volumes."""
MOUNT = "mount"
"""The name of each target: ``…/volumes/kubernetes.io~csi/NAME/mount``."""
KUBELETS = "vol_data.json"
"""What the kubelet writes down of a volume, beside its target."""
LONGEST = 1 << 16
"""Bytes that it may have."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A mount that is held is seen in a pod's folder."""

    mount: Mount
    held: Held

    @property
    def is_target(self) -> bool:
        """Not a folder of the volume that one container has, and not what appears within a volume with that."""
        parts = self.mount.place.split("/")
        return parts[-1] == MOUNT and parts[-4:-3] == ["volumes"]

    def entry(self, kubelets: bytes, boot: str) -> Entry:
        """As far as that can be told: options are not."""
        place, source = self.mount.place, self.mount.source
        volume = told_volume(kubelets) or source.partition(SOURCE)[2]
        pod = place.split("/")[-5] if "/volumes/" in place else ""
        return Entry(place, volume, self.held.key, "", pod, self.mount.read_only, self.held.generation, boot)


def bound(mounts: Mounts, held: Mapping[str, Held], pods: str) -> Iterator[Bound]:
    """Where mounts that are held are seen below the folder of pods."""
    sources = [(mounts.top(each.place), each) for each in held.values()]
    keys = {source.device: each for source, each in sources if source is not None and source.ours}
    for mount in mounts.all:
        each = keys.get(mount.device)
        if each is not None and mount.place.startswith(pods) and mount.place != each.place:
            yield Bound(mount, each)


def told_volume(kubelets: bytes) -> str:
    return _told(kubelets, "volumeHandle")


def told_driver(kubelets: bytes) -> str:
    """Whose volume the kubelet says it is; empty if it does not."""
    return _told(kubelets, "driverName")


def _told(kubelets: bytes, name: str) -> str:
    try:
        said = json.loads(kubelets)
    except ValueError:
        return ""
    return str(said.get(name, "")) if isinstance(said, dict) else ""
