"""The node's part of the contract."""

from __future__ import annotations

from pf_csi.asking import needed
from pf_csi.contract import csi_pb2 as pb
from pf_csi.contract import csi_pb2_grpc
from pf_csi.node.convert import asked, usages
from pf_csi.node.looking import Looking
from pf_csi.node.service import Publishing
from pf_csi.unserved import unserved

_RPC = pb.NodeServiceCapability.RPC
_CAPABILITIES = (
    _RPC.GET_VOLUME_STATS,
    _RPC.VOLUME_CONDITION,
    _RPC.VOLUME_MOUNT_GROUP,
    _RPC.SINGLE_NODE_MULTI_WRITER,
)


class NodeServicer(csi_pb2_grpc.NodeServicer):
    """Publishes volumes on one machine."""

    NodeStageVolume = NodeUnstageVolume = NodeExpandVolume = unserved

    def __init__(self, node: str, publishing: Publishing, looking: Looking) -> None:
        self._node = node
        self._publishing = publishing
        self._looking = looking

    async def NodePublishVolume(
        self, request: pb.NodePublishVolumeRequest, _context: object
    ) -> pb.NodePublishVolumeResponse:
        await self._publishing.publish(asked(request))
        return pb.NodePublishVolumeResponse()

    async def NodeUnpublishVolume(
        self, request: pb.NodeUnpublishVolumeRequest, _context: object
    ) -> pb.NodeUnpublishVolumeResponse:
        needed(request.volume_id, "volume_id")
        await self._publishing.unpublish(needed(request.target_path, "target_path"))
        return pb.NodeUnpublishVolumeResponse()

    async def NodeGetVolumeStats(
        self, request: pb.NodeGetVolumeStatsRequest, _context: object
    ) -> pb.NodeGetVolumeStatsResponse:
        volume = needed(request.volume_id, "volume_id")
        seen = await self._looking.at(volume, needed(request.volume_path, "volume_path"))
        condition = pb.VolumeCondition(abnormal=seen.abnormal, message=seen.text)
        usage = usages(seen.usage) if seen.usage else []
        return pb.NodeGetVolumeStatsResponse(usage=usage, volume_condition=condition)

    async def NodeGetCapabilities(
        self, _request: pb.NodeGetCapabilitiesRequest, _context: object
    ) -> pb.NodeGetCapabilitiesResponse:
        capabilities = [pb.NodeServiceCapability(rpc=_RPC(type=each)) for each in _CAPABILITIES]
        return pb.NodeGetCapabilitiesResponse(capabilities=capabilities)

    async def NodeGetInfo(self, _request: pb.NodeGetInfoRequest, _context: object) -> pb.NodeGetInfoResponse:
        return pb.NodeGetInfoResponse(node_id=self._node)
