"""Between the contract and the words of the node."""

from __future__ import annotations

from pf_csi.asking import check_capability, needed
from pf_csi.contract import csi_pb2 as pb
from pf_csi.node.domain import Asked
from pf_csi.node.probing import Usage
from pf_csi.refusals import Refusal, Why

_MODE = pb.VolumeCapability.AccessMode
READERS = frozenset((_MODE.SINGLE_NODE_READER_ONLY, _MODE.MULTI_NODE_READER_ONLY))


def asked(request: pb.NodePublishVolumeRequest) -> Asked:
    """Refusal if something is missing."""
    volume = needed(request.volume_id, "volume_id")
    target = needed(request.target_path, "target_path")
    if not request.HasField("volume_capability"):
        raise Refusal(Why.MALFORMED, "volume_capability must be given")
    capability = request.volume_capability
    check_capability(capability)
    return Asked(
        volume,
        target,
        list(capability.mount.mount_flags),
        capability.mount.volume_mount_group,
        request.readonly or capability.access_mode.mode in READERS,
        dict(request.volume_context),
        dict(request.secrets),
        capability.access_mode.mode == _MODE.SINGLE_NODE_SINGLE_WRITER,
    )


def usages(usage: Usage) -> list[pb.VolumeUsage]:
    return [
        pb.VolumeUsage(
            total=usage.size, available=usage.free, used=max(0, usage.size - usage.free), unit=pb.VolumeUsage.BYTES
        ),
        pb.VolumeUsage(
            total=usage.things,
            available=usage.things_free,
            used=max(0, usage.things - usage.things_free),
            unit=pb.VolumeUsage.INODES,
        ),
    ]
