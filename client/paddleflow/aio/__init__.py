"""The client for asyncio programs.

::

    async with connect("localhost:8999", user="root", password=password) as paddleflow:
        async for queue in paddleflow.queues.list():
            print(queue.name, queue.used)
"""

from __future__ import annotations

from paddleflow.aio.client import AsyncPaddleFlow, connect, connect_configured

__all__ = ["AsyncPaddleFlow", "connect", "connect_configured"]
