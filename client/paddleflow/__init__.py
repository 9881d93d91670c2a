"""The client of PaddleFlow.

`connect` opens a typed synchronous client, `paddleflow.aio.connect` its asyncio twin; both raise `Problem`.
`Client` is the interface of the original, whose methods return ``(ok, result)``. `shards` is for programs that train in
a job.

Names are loaded when they are first used, so that importing the generated stubs below this package stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from paddleflow.aio import AsyncPaddleFlow
    from paddleflow.compat import Client
    from paddleflow.problems import Problem
    from paddleflow.sync import PaddleFlow, connect, connect_configured
    from paddleflow.training import shards

__all__ = ["AsyncPaddleFlow", "Client", "PaddleFlow", "Problem", "connect", "connect_configured", "shards"]

_HOMES = {
    "AsyncPaddleFlow": "paddleflow.aio",
    "Client": "paddleflow.compat",
    "PaddleFlow": "paddleflow.sync",
    "Problem": "paddleflow.problems",
    "connect": "paddleflow.sync",
    "connect_configured": "paddleflow.sync",
    "shards": "paddleflow.training",
}


if not TYPE_CHECKING:
    # Hidden from type checkers, which would otherwise take any name for one of this package.
    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
