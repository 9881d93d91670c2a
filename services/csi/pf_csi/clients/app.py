"""`pf-csi clients`, put together."""

from __future__ import annotations

import asyncio
import json
import socket
from datetime import UTC, datetime
from importlib.metadata import version

from pf_csi.clients.converging import Converging, Wish
from pf_csi.clients.leading import Leading, Pace
from pf_csi.kubernetes import Address, Api, ApiFailed, Thing
from pf_csi.measures import Measures
from pf_csi.settings import ClientPodsSettings
from pf_kit.lifecycle import Program, Stop
from pf_kit.start import CannotStart

VERSION = version("paddleflow-server")


async def main(settings: ClientPodsSettings, stop: Stop) -> None:
    """Has client pods be where mounts need them, while it leads. Whoever serves goes on without it."""
    try:
        api = Api(Address.of_pod())
    except ApiFailed as failed:
        raise CannotStart(failed.text) from None
    pace = Pace(settings.lease_seconds, settings.renewed_seconds, settings.retry_seconds)
    leading = Leading(api, settings.own_namespace, settings.lease, socket.gethostname(), pace, _now)
    wish = Wish(settings.namespace, settings.driver, _template(settings), settings.spares)
    async with Measures().told(settings.admin, lambda: True):
        stop.serving = True
        await _until_asked(leading, Converging(api, wish, _now), stop)


PROGRAM = Program("csi clients", VERSION, "PF_CSI_CLIENTS", ClientPodsSettings, main)


async def _until_asked(leading: Leading, converging: Converging, stop: Stop) -> None:
    working = asyncio.ensure_future(_work(leading, converging))
    stopping = asyncio.ensure_future(stop.asked.wait())
    await asyncio.wait([working, stopping], return_when=asyncio.FIRST_COMPLETED)
    working.cancel()
    stopping.cancel()
    await asyncio.gather(working, stopping, return_exceptions=True)
    await leading.release()
    if not stop.asked.is_set():
        working.result()


async def _work(leading: Leading, converging: Converging) -> None:
    await leading.until_leading()
    async with asyncio.TaskGroup() as group:
        group.create_task(leading.keep())
        group.create_task(converging.run())


def _template(settings: ClientPodsSettings) -> Thing:
    try:
        found: Thing = json.loads(settings.template.read_bytes())
    except (OSError, ValueError) as error:
        raise CannotStart(f"the template of client pods cannot be read: {settings.template}") from error
    return found


def _now() -> datetime:
    return datetime.now(UTC)
