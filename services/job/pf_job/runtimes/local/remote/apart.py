"""Work that blocks, and may hang as what it is about does: each has its own thread, and holds up no other."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")


async def apart(work: Callable[[], T]) -> T:
    """What the work gives, or raises. Nobody waits for its thread when the process ends."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def tell(how: Callable[[], None]) -> None:
        def told() -> None:
            if not done.done():
                how()

        # Whoever waited, and the loop as well, may be gone long before.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(told)

    def run() -> None:
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001  # whoever waits raises it
            failure = error
            tell(lambda: done.set_exception(failure))
        else:
            tell(lambda: done.set_result(result))

    threading.Thread(target=run, name="mounts", daemon=True).start()
    return await done
