"""`python -m support.csi_failing STEP PF_CSI ROLE`: the driver, which kills itself after a step of publishing.

Steps are counted from 1, over all that changes something outside of the process.
"""

from __future__ import annotations

import functools
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from pf_csi.__main__ import main
from pf_csi.holder.client import HolderClient
from pf_csi.kernel.targets import Targets
from pf_csi.node.journal import Journal

STEPS = ((HolderClient, "hold"), (HolderClient, "release"))
BLOCKING = ((Journal, "write"), (Journal, "remove"), (Targets, "make"), (Targets, "bind"), (Targets, "clear"))


class Countdown:
    """Kills the process when as many steps are done."""

    def __init__(self, steps: int) -> None:
        self._left = steps

    def done(self) -> None:
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def told(step: Callable[..., Any], countdown: Countdown) -> Callable[..., Any]:
    @functools.wraps(step)
    def call(*arguments: Any, **more: Any) -> Any:
        answer = step(*arguments, **more)
        countdown.done()
        return answer

    return call


def told_later(step: Callable[..., Any], countdown: Countdown) -> Callable[..., Any]:
    @functools.wraps(step)
    async def call(*arguments: Any, **more: Any) -> Any:
        answer = await step(*arguments, **more)
        countdown.done()
        return answer

    return call


if __name__ == "__main__":
    counting = Countdown(int(sys.argv[1]))
    for kind, name in STEPS:
        setattr(kind, name, told_later(getattr(kind, name), counting))
    for owner, name in BLOCKING:
        setattr(owner, name, told(getattr(owner, name), counting))
    sys.argv = sys.argv[2:]
    main()
