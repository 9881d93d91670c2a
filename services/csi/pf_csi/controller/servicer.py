"""The controller's part of the contract."""

from __future__ import annotations

from collections.abc import Iterable

from pf_csi.asking import check_capability, needed
from pf_csi.contract import csi_pb2 as pb
from pf_csi.contract import csi_pb2_grpc
from pf_csi.controller.domain import Made, Range, Wanted
from pf_csi.controller.service import Volumes
from pf_csi.refusals import Refusal, Why
from pf_csi.unserved import unserved

_RPC = pb.ControllerServiceCapability.RPC
_CAPABILITIES = (
    _RPC.CREATE_DELETE_VOLUME,
    _RPC.LIST_VOLUMES,
    _RPC.GET_CAPACITY,
    _RPC.EXPAND_VOLUME,
    _RPC.SINGLE_NODE_MULTI_WRITER,
)


class ControllerServicer(csi_pb2_grpc.ControllerServicer):
    """Makes and removes volumes."""

    ControllerPublishVolume = ControllerUnpublishVolume = ControllerGetVolume = ControllerModifyVolume = unserved
    CreateSnapshot = DeleteSnapshot = ListSnapshots = GetSnapshot = unserved

    def __init__(self, volumes: Volumes) -> None:
        self._volumes = volumes

    async def CreateVolume(self, request: pb.CreateVolumeRequest, _context: object) -> pb.CreateVolumeResponse:
        needed(request.name, "name")
        _check_capabilities(request.volume_capabilities)
        if request.HasField("volume_content_source"):
            raise Refusal(Why.MALFORMED, "volume_content_source: there are no snapshots and no clones; leave it out")
        if request.mutable_parameters:
            raise Refusal(Why.MALFORMED, "mutable_parameters: nothing of a volume can be changed later but its size")
        wanted = Wanted(request.name, _range(request.capacity_range), dict(request.parameters))
        return pb.CreateVolumeResponse(volume=_volume(await self._volumes.create(wanted)))

    async def DeleteVolume(self, request: pb.DeleteVolumeRequest, _context: object) -> pb.DeleteVolumeResponse:
        await self._volumes.delete(needed(request.volume_id, "volume_id"))
        return pb.DeleteVolumeResponse()

    async def ControllerExpandVolume(
        self, request: pb.ControllerExpandVolumeRequest, _context: object
    ) -> pb.ControllerExpandVolumeResponse:
        volume = needed(request.volume_id, "volume_id")
        if not request.HasField("capacity_range"):
            raise Refusal(Why.MALFORMED, "capacity_range must be given")
        if request.HasField("volume_capability"):
            check_capability(request.volume_capability)
        size = await self._volumes.expand(volume, _range(request.capacity_range))
        return pb.ControllerExpandVolumeResponse(capacity_bytes=size, node_expansion_required=False)

    async def ValidateVolumeCapabilities(
        self, request: pb.ValidateVolumeCapabilitiesRequest, _context: object
    ) -> pb.ValidateVolumeCapabilitiesResponse:
        volume = needed(request.volume_id, "volume_id")
        if not request.volume_capabilities:
            raise Refusal(Why.MALFORMED, "volume_capabilities must be given")
        await self._volumes.found(volume)
        try:
            _check_capabilities(request.volume_capabilities)
        except Refusal as refusal:
            return pb.ValidateVolumeCapabilitiesResponse(message=refusal.text)
        confirmed = pb.ValidateVolumeCapabilitiesResponse.Confirmed(
            volume_context=request.volume_context,
            volume_capabilities=request.volume_capabilities,
            parameters=request.parameters,
        )
        return pb.ValidateVolumeCapabilitiesResponse(confirmed=confirmed)

    async def ListVolumes(self, request: pb.ListVolumesRequest, _context: object) -> pb.ListVolumesResponse:
        page, token = await self._volumes.page(request.max_entries, request.starting_token)
        entries = [pb.ListVolumesResponse.Entry(volume=_volume(each)) for each in page]
        return pb.ListVolumesResponse(entries=entries, next_token=token)

    async def GetCapacity(self, request: pb.GetCapacityRequest, _context: object) -> pb.GetCapacityResponse:
        return pb.GetCapacityResponse(available_capacity=await self._volumes.room(dict(request.parameters)))

    async def ControllerGetCapabilities(
        self, _request: pb.ControllerGetCapabilitiesRequest, _context: object
    ) -> pb.ControllerGetCapabilitiesResponse:
        capabilities = [pb.ControllerServiceCapability(rpc=_RPC(type=each)) for each in _CAPABILITIES]
        return pb.ControllerGetCapabilitiesResponse(capabilities=capabilities)


def _check_capabilities(capabilities: Iterable[pb.VolumeCapability]) -> None:
    """Refusal of what no volume can be used as."""
    told = list(capabilities)
    if not told:
        raise Refusal(Why.MALFORMED, "volume_capabilities must be given")
    for capability in told:
        check_capability(capability)


def _range(told: pb.CapacityRange) -> Range:
    return Range(told.required_bytes, told.limit_bytes)


def _volume(made: Made) -> pb.Volume:
    return pb.Volume(volume_id=str(made.id), capacity_bytes=made.size, volume_context=made.context)
