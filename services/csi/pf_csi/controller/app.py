"""`pf-csi controller`, put together."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.metadata import version

from pf_csi.contract import csi_pb2_grpc
from pf_csi.controller.service import Volumes
from pf_csi.controller.servicer import ControllerServicer
from pf_csi.controller.stores import Stores
from pf_csi.measures import Measures
from pf_csi.servicer import IdentityServicer
from pf_csi.serving import serving
from pf_csi.settings import ControllerSettings
from pf_csi.turns import Turns
from pf_kit.lifecycle import Program, Stop

VERSION = version("paddleflow-server")
_WORKERS = 32


async def main(settings: ControllerSettings, stop: Stop) -> None:
    """Serves until it is told to stop. What is cut off then is done again when it is asked for again."""
    volumes = Volumes(Stores(settings.stores), ThreadPoolExecutor(_WORKERS, "stores"), Turns())
    identity = IdentityServicer(settings.driver, VERSION, lambda: True)
    measures = Measures()
    server = serving(
        settings.socket,
        measures.calls(),
        partial(csi_pb2_grpc.add_IdentityServicer_to_server, identity),
        partial(csi_pb2_grpc.add_ControllerServicer_to_server, ControllerServicer(volumes)),
    )
    async with server, measures.told(settings.admin, lambda: True):
        stop.serving = True
        await stop.asked.wait()


PROGRAM = Program("csi controller", VERSION, "PF_CSI_CONTROLLER", ControllerSettings, main)
