"""The interface of the original client: every method returns ``(ok, result)``.

::

    client = paddleflow.Client("127.0.0.1", "root", password, 8999)
    ok, queues, marker = client.list_queue()

`ok` False comes with the message in place of the result. New programs use `paddleflow.connect`.
"""

from __future__ import annotations

from paddleflow.compat.client import Client

__all__ = ["Client"]
