"""Makes the driver known to the kubelet, which watches a folder of sockets and asks each that appears."""

from __future__ import annotations

import logging

from pf_csi.contract import registration_pb2 as pb
from pf_csi.contract import registration_pb2_grpc

logger = logging.getLogger(__name__)

_KIND = "CSIPlugin"
_VERSIONS = ("1.0.0",)
"""Of the contract; all that begin with 1 are one for the kubelet."""


class RegistrationServicer(registration_pb2_grpc.RegistrationServicer):
    """Tells where the driver is called."""

    def __init__(self, name: str, endpoint: str) -> None:
        self._name = name
        self._endpoint = endpoint
        """The driver's socket, as the kubelet sees it."""

    async def GetInfo(self, _request: pb.InfoRequest, _context: object) -> pb.PluginInfo:
        return pb.PluginInfo(type=_KIND, name=self._name, endpoint=self._endpoint, supported_versions=_VERSIONS)

    async def NotifyRegistrationStatus(
        self, request: pb.RegistrationStatus, _context: object
    ) -> pb.RegistrationStatusResponse:
        if request.plugin_registered:
            logger.info("registered with the kubelet")
        else:
            logger.error("the kubelet refuses the driver", extra={"why": request.error})
        return pb.RegistrationStatusResponse()
