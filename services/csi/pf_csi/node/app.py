"""`pf-csi node`, put together."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from importlib.metadata import version
from pathlib import Path

from paddleflow.channel import open_channel
from paddleflow.mountinfo import read_mounts
from pf_csi.claims import claimed
from pf_csi.contract import csi_pb2_grpc, registration_pb2_grpc
from pf_csi.holder.client import HolderClient
from pf_csi.kernel.targets import Targets
from pf_csi.measures import Measures
from pf_csi.node.filesystems import NoFilesystems, RemoteFilesystems
from pf_csi.node.journal import Journal
from pf_csi.node.looking import Looking
from pf_csi.node.mending import Mending
from pf_csi.node.ports import Filesystems
from pf_csi.node.probing import Probe
from pf_csi.node.registration import RegistrationServicer
from pf_csi.node.service import Ground, Publishing
from pf_csi.node.servicer import NodeServicer
from pf_csi.places import Rules
from pf_csi.servicer import IdentityServicer
from pf_csi.serving import serving
from pf_csi.settings import NodeSettings
from pf_csi.turns import Turns
from pf_kit.lifecycle import Program, Stop
from pf_kit.start import CannotStart
from pf_kit.telemetry import RpcMetrics
from pf_kit.tls import TlsSettings, client_tls

VERSION = version("paddleflow-server")
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_WORKERS = 32
_SALT = 32


async def main(settings: NodeSettings, stop: Stop) -> None:
    """Serves until it is told to stop. What is mounted stays."""
    async with AsyncExitStack() as stack:
        stack.enter_context(claimed(settings.state, "PF_CSI_NODE_STATE"))
        filesystems = await stack.enter_async_context(_filesystems(settings))
        ground, turns = _ground(settings, filesystems), Turns()
        publishing = Publishing(ground, turns)
        looking = Looking(ground.journal, ground.read, Probe())
        mending = Mending(ground, publishing, turns)
        identity = IdentityServicer(settings.driver, VERSION, lambda: mending.works)
        node = NodeServicer(settings.name, publishing, looking)
        measures = Measures()
        calls = measures.calls()
        await stack.enter_async_context(
            serving(
                settings.socket,
                calls,
                partial(csi_pb2_grpc.add_IdentityServicer_to_server, identity),
                partial(csi_pb2_grpc.add_NodeServicer_to_server, node),
            )
        )
        await _register(stack, settings, calls)
        await stack.enter_async_context(measures.told(settings.admin, lambda: mending.works and mending.is_held))
        stop.serving = True
        going_on = asyncio.ensure_future(mending.run())
        await stop.asked.wait()
        going_on.cancel()
        await asyncio.gather(going_on, return_exceptions=True)


PROGRAM = Program("csi node", VERSION, "PF_CSI_NODE", NodeSettings, main)


async def _register(stack: AsyncExitStack, settings: NodeSettings, calls: RpcMetrics) -> None:
    """The kubelet asks as soon as it sees the socket, so that comes last."""
    if settings.registration is None:
        return
    servicer = RegistrationServicer(settings.driver, settings.endpoint)
    add = partial(registration_pb2_grpc.add_RegistrationServicer_to_server, servicer)
    await stack.enter_async_context(serving(settings.registration / f"{settings.driver}-reg.sock", calls, add))


@asynccontextmanager
async def _filesystems(settings: NodeSettings) -> AsyncIterator[Filesystems]:
    if not settings.fs:
        yield NoFilesystems()
        return
    files = settings.fs_tls
    try:
        tls = client_tls(TlsSettings(files.certificate, files.key, None, files.ca))
    except OSError as error:
        raise CannotStart(f"cannot read {error.filename}, which TLS needs: {error.strerror}") from error
    async with open_channel(settings.fs, tls) as channel:
        yield RemoteFilesystems(channel)


def _ground(settings: NodeSettings, filesystems: Filesystems) -> Ground:
    return Ground(
        Targets(settings.kubelet),
        Journal(settings.state / "journal"),
        HolderClient(settings.holder),
        filesystems,
        read_mounts,
        ThreadPoolExecutor(_WORKERS, "node"),
        Rules(settings.allowed.kinds, settings.allowed.folders),
        _salt(settings.state / "salt"),
        _BOOT.read_text().strip(),
        settings.driver,
    )


def _salt(path: Path) -> bytes:
    """Of this machine alone, the same for ever: names of mounts are made with it."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        new = path.with_suffix(".new")
        new.touch(0o600)
        new.write_bytes(secrets.token_bytes(_SALT))
        new.rename(path)
        return path.read_bytes()
