"""`pf-csi holder`, put together."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version

from pf_csi.holder.places import Folders
from pf_csi.holder.processes import Cache, LocalProcesses
from pf_csi.holder.reaping import adopt_orphans, reap
from pf_csi.holder.server import HolderServer
from pf_csi.holder.supervisor import Patience, Supervisor
from pf_csi.settings import HolderSettings
from pf_csi.sockets import listening, remove
from pf_kit.lifecycle import Program, Stop
from pf_kit.start import CannotStart

VERSION = version("paddleflow-server")
_MORE = 5.0
"""Seconds that a client has longer than whoever waits for it: it is told to ask again, and then what went wrong."""
_WORKERS = 64
"""Mounts that are begun or ended at once."""


async def main(settings: HolderSettings, stop: Stop) -> None:
    """Holds mounts until it is told to stop. Those who serve them go on, and the next holder finds them."""
    adopt_orphans()
    try:
        listener = listening(settings.socket)
    except OSError as error:
        raise CannotStart(f"cannot listen at {settings.socket}: {error.strerror}") from error
    supervisor = _supervisor(settings)
    # Who asks before all is found that is there waits, and nothing is begun twice.
    await supervisor.find()
    server = await HolderServer(supervisor).serve(listener)
    loops = [asyncio.ensure_future(reap()), asyncio.ensure_future(_refresh(supervisor, settings.sizes_seconds))]
    stop.serving = True
    try:
        await stop.asked.wait()
    finally:
        for loop in loops:
            loop.cancel()
        server.close()
        supervisor.close()
        remove(settings.socket)


async def _refresh(supervisor: Supervisor, every: float) -> None:
    """Volumes may be made larger while they are mounted."""
    while True:
        await asyncio.sleep(every)
        await supervisor.refresh()


PROGRAM = Program("csi holder", VERSION, "PF_CSI_HOLDER", HolderSettings, main)


def _supervisor(settings: HolderSettings) -> Supervisor:
    folders = Folders(settings.mounts, settings.secrets)
    cache = Cache(settings.cache, settings.cache_gib << 30 or None)
    clients = LocalProcesses(folders, cache, settings.ready_seconds + _MORE)
    workers = ThreadPoolExecutor(_WORKERS, "mounts")
    patience = Patience(settings.ready_seconds, settings.uploaded_seconds)
    return Supervisor(clients, lambda key: str(folders.of(key).at), workers, patience)
