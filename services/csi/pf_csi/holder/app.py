"""`pf-csi holder`, put together."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Collection, Coroutine
from contextlib import AsyncExitStack
from importlib.metadata import version
from pathlib import Path
from typing import Any

from paddleflow.mounting import CannotMount
from paddleflow.sockets import listening, remove
from pf_csi.claims import claimed
from pf_csi.holder import processes
from pf_csi.holder.door import SOCKET, Door, listening_for
from pf_csi.holder.lanes import Lanes
from pf_csi.holder.places import Folders
from pf_csi.holder.pods import PodClients, give
from pf_csi.holder.processes import Cache, LocalProcesses
from pf_csi.holder.reaping import adopt_orphans, reap
from pf_csi.holder.server import HolderServer
from pf_csi.holder.starter import Starter
from pf_csi.holder.supervisor import Patience, Supervisor
from pf_csi.holder.telling import Telling
from pf_csi.kernel.connections import Connections, open_connections
from pf_csi.kubernetes import Address, Api, ApiFailed
from pf_csi.measures import Measures, MountsByState
from pf_csi.mount_objects import kind
from pf_csi.settings import ClientsSettings, HolderSettings, Run
from pf_kit.lifecycle import Program, Stop
from pf_kit.start import CannotStart

logger = logging.getLogger(__name__)

VERSION = version("paddleflow-server")
_MORE = 5.0
"""Seconds that a client has longer than whoever waits for it: it is told to ask again, and then what went wrong."""
_LOOKS = 6
"""How often a client is looked at in the time in which it must have answered."""


async def main(settings: HolderSettings, stop: Stop) -> None:
    """Holds mounts until it is told to stop. Those who serve them go on, and the next holder finds them."""
    adopt_orphans()
    works = list[asyncio.Task[None]]()
    async with AsyncExitStack() as stack:
        stack.enter_context(claimed(settings.mounts, "PF_CSI_HOLDER_MOUNTS"))
        listener = _listening(settings.socket)
        stack.callback(remove, settings.socket)
        measures = Measures()
        # It lives also while it looks for what there is.
        await stack.enter_async_context(measures.told(settings.admin, lambda: stop.serving))
        starter = Starter(os.environ, settings.ready_seconds)
        stack.callback(starter.close)
        supervisor = await _supervisor(settings, starter, stack, works)
        stack.callback(supervisor.close)
        MountsByState(measures.registry, supervisor.held)
        # Who asks before all is found that is there waits, and nothing is begun twice.
        await supervisor.find()
        server = await HolderServer(supervisor).serve(listener)
        stack.callback(server.close)
        _while_it_lives(stack, works, reap())
        _while_it_lives(stack, works, _refresh(supervisor, settings.sizes_seconds))
        _while_it_lives(stack, works, _look_after(supervisor, settings.hanging_seconds / _LOOKS))
        _stand_by(starter)
        stop.serving = True
        await until_asked(stop, works)


def _listening(path: Path) -> socket.socket:
    try:
        return listening(path)
    except OSError as error:
        raise CannotStart(f"cannot listen at {path}: {error.strerror}") from error


def _while_it_lives(stack: AsyncExitStack, works: list[asyncio.Task[None]], work: Coroutine[Any, Any, None]) -> None:
    works.append(asyncio.ensure_future(work))
    stack.callback(works[-1].cancel)


async def until_asked(stop: Stop, works: Collection[asyncio.Task[None]]) -> None:
    """Until it is told to stop. A fault of what lasts as long as it does ends it; mounts go on with the next."""
    stopping = asyncio.ensure_future(stop.asked.wait())
    try:
        done, _ = await asyncio.wait([stopping, *works], return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopping.cancel()
    for each in done:
        each.result()


async def _refresh(supervisor: Supervisor, every: float) -> None:
    """Volumes may be made larger while they are mounted."""
    while True:
        await asyncio.sleep(every)
        await supervisor.refresh()


async def _look_after(supervisor: Supervisor, every: float) -> None:
    """Clients may live and answer nobody."""
    while True:
        await asyncio.sleep(every)
        await supervisor.look_after()


PROGRAM = Program("csi holder", VERSION, "PF_CSI_HOLDER", HolderSettings, main)


async def _supervisor(
    settings: HolderSettings, starter: Starter, stack: AsyncExitStack, works: list[asyncio.Task[None]]
) -> Supervisor:
    pods = settings.clients.run is Run.PODS
    folders = Folders(settings.mounts, settings.secrets, settings.clients.states if pods else None)
    cache = Cache(settings.cache, settings.cache_gib << 30 or None)
    user = settings.clients.user if pods else None
    waiting = processes.Patience(settings.ready_seconds + _MORE, settings.hanging_seconds)
    keepers = LocalProcesses(folders, cache, waiting, _connections(), user, starter.begin)
    clients = await _pods(settings, folders, keepers, stack, works) if pods else keepers
    patience = Patience(
        settings.ready_seconds, settings.uploaded_seconds, settings.kept_seconds, settings.hanging_seconds
    )
    return Supervisor(clients, lambda key: str(folders.of(key).at), Lanes(), patience)


def _stand_by(starter: Starter) -> None:
    """Whoever begins mounts loads what they need before the first is asked for."""
    try:
        starter.stand_by()
    except CannotMount as error:
        raise CannotStart(error.message) from None
    except OSError as failure:
        logger.warning("nobody stands by to begin mounts; the first one waits for him", extra={"why": str(failure)})


def _connections() -> Connections | None:
    try:
        return open_connections()
    except OSError as error:
        logger.warning("the kernel does not show what clients have not answered", extra={"why": error.strerror})
        return None


async def _pods(
    settings: HolderSettings,
    folders: Folders,
    keepers: LocalProcesses,
    stack: AsyncExitStack,
    works: list[asyncio.Task[None]],
) -> PodClients:
    user, folder = settings.clients.user, settings.clients.folder
    for cache in settings.cache:
        give(Path(cache), user)
    door = Door(user)
    server = await door.serve(listening_for(folder / SOCKET, user))
    stack.callback(server.close)
    if settings.clients.machine:
        _while_it_lives(stack, works, _telling(settings.clients, door).run())
    return PodClients(folders, keepers, door, folder, user)


def _telling(clients: ClientsSettings, door: Door) -> Telling:
    try:
        api = Api(Address.of_pod())
    except ApiFailed as failed:
        raise CannotStart(failed.text) from None
    return Telling(api, kind(clients.namespace), clients.machine, door)
