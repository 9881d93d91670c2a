"""Who the driver is."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from google.protobuf.wrappers_pb2 import BoolValue

from pf_csi.contract import csi_pb2 as pb
from pf_csi.contract import csi_pb2_grpc

_Service = pb.PluginCapability.Service
_Expansion = pb.PluginCapability.VolumeExpansion


class IdentityServicer(csi_pb2_grpc.IdentityServicer):
    """Answers at once, whatever else is going on."""

    def __init__(self, name: str, version: str, works: Callable[[], bool]) -> None:
        self._name = name
        self._version = version
        self._works = works

    async def GetPluginInfo(self, _request: pb.GetPluginInfoRequest, _context: object) -> pb.GetPluginInfoResponse:
        return pb.GetPluginInfoResponse(name=self._name, vendor_version=self._version)

    async def GetPluginCapabilities(
        self, _request: pb.GetPluginCapabilitiesRequest, _context: object
    ) -> pb.GetPluginCapabilitiesResponse:
        return pb.GetPluginCapabilitiesResponse(capabilities=_capabilities())

    async def Probe(self, _request: pb.ProbeRequest, _context: object) -> pb.ProbeResponse:
        return pb.ProbeResponse(ready=BoolValue(value=self._works()))


def _capabilities() -> Sequence[pb.PluginCapability]:
    return [
        pb.PluginCapability(service=_Service(type=_Service.CONTROLLER_SERVICE)),
        pb.PluginCapability(volume_expansion=_Expansion(type=_Expansion.ONLINE)),
    ]
