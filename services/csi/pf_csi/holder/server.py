"""The holder's socket: whoever runs the node asks for mounts there."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

from paddleflow.sockets import may_come, peer_of
from pf_csi.holder.hello import OWN, check_understood, hello_of
from pf_csi.holder.messages import LONGEST, decode, encode, refused, shown
from pf_csi.holder.supervisor import Supervisor
from pf_csi.refusals import Refusal, Why

logger = logging.getLogger(__name__)

_LONGEST = 30.0
"""Seconds that somebody waits for changes before he asks again: whoever is gone is not noticed meanwhile."""

Answering = Callable[[Mapping[str, Any]], Awaitable[Mapping[str, Any]]]


class HolderServer:
    """Answers one question on each connection."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._answers: Mapping[str, Answering] = {
            "hold": self._hold,
            "renew": self._renew,
            "release": self._release,
            "held": self._held,
            "changed": self._changed,
        }

    async def serve(self, listener: socket.socket) -> asyncio.Server:
        return await asyncio.start_unix_server(self._come, sock=listener, limit=LONGEST)

    async def _come(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            peer = peer_of(writer.get_extra_info("socket"))
            if not may_come(peer):
                logger.warning("a caller is turned away", extra={"user": peer.user})
                return
            writer.write(encode(await self._answer(await reader.readline())))
            await writer.drain()
        except (ConnectionError, ValueError):
            # Whoever asked is gone, or says more than a line may have.
            logger.info("a caller was not answered")
        except asyncio.CancelledError:
            # The process ends; to end as cancelled would be logged as a fault.
            return
        finally:
            writer.close()

    async def _answer(self, line: bytes) -> Mapping[str, Any]:
        try:
            asked = decode(line)
            check_understood(hello_of(asked), "pf-csi node")
            answering = self._answers.get(asked["do"], _unknown)
            return await answering(asked)
        except Refusal as refusal:
            return refused(refusal)
        except (KeyError, TypeError, ValueError) as error:
            return refused(Refusal(Why.MALFORMED, f"not understood: {type(error).__name__}"))
        except OSError as error:
            return refused(Refusal(Why.FAULT, f"{error.strerror or error}"))

    async def _hold(self, asked: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"held": shown(await self._supervisor.hold(str(asked["key"]), dict(asked["mount"])))}

    async def _renew(self, asked: Mapping[str, Any]) -> Mapping[str, Any]:
        await self._supervisor.renew(str(asked["key"]), dict(asked["properties"]))
        return {}

    async def _release(self, asked: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"held": shown(await self._supervisor.release(str(asked["key"])))}

    async def _held(self, _: Mapping[str, Any]) -> Mapping[str, Any]:
        held = {key: shown(each) for key, each in self._supervisor.held().items()}
        return {"all": held, "changes": self._supervisor.changes}

    async def _changed(self, asked: Mapping[str, Any]) -> Mapping[str, Any]:
        with suppress(TimeoutError):
            async with asyncio.timeout(_LONGEST):
                await self._supervisor.changed_since(int(asked["since"]))
        return {"changes": self._supervisor.changes}


async def _unknown(asked: Mapping[str, Any]) -> Mapping[str, Any]:
    what = str(asked["do"])[:40]
    raise Refusal(Why.UNSERVED, f"pf-csi holder {OWN.program} does not know {what!r}: update it")
