# Written by tools/generate_sync.py from paddleflow/aio/__init__.py; change it there.
"""The client for programs with threads.

::

    with connect("localhost:8999", user="root", password=password) as paddleflow:
        for queue in paddleflow.queues.list():
            print(queue.name, queue.used)
"""

from __future__ import annotations

from paddleflow.sync.client import PaddleFlow, connect, connect_configured

__all__ = ["PaddleFlow", "connect", "connect_configured"]
