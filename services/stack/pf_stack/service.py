"""A PaddleFlow service as a part of the stack."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pf_kit.embedded.accounts import Account
from pf_kit.embedded.child import Child, Program, clean_environment
from pf_kit.embedded.refusal import Refusal
from pf_stack.endpoints import Endpoint
from pf_stack.ports import is_free

PROBE_SECONDS = 0.1
"""Between two probes. One goes on asking until the answer is yes, so a second is needed only if the first was lost."""


@dataclass(frozen=True, slots=True)
class Service:
    """A Python module that serves gRPC."""

    name: str
    module: str
    endpoint: Endpoint
    settings: Callable[[], Mapping[str, str]]
    """What its environment has to hold at the next start."""
    folder: Path
    """Its current folder."""
    account: Account

    @property
    def start_seconds(self) -> float:
        # It may be changing its tables, and would begin anew.
        return 3600.0

    async def prepare(self) -> None:
        """Sees that its ports are free; its schema it makes itself when it starts."""
        for port in (self.endpoint.port, self.endpoint.admin_port):
            if not is_free(port):
                raise Refusal(
                    f"port {port} of {self.name} is taken by another program",
                    "Stop that program, or let the stack choose another port: pf down, then pf up.",
                )

    def program(self) -> Program:
        return self._python(self.module, patience=15.0)

    async def wait_ready(self, _child: Child) -> None:
        while True:
            if await self._is_serving():
                return
            await asyncio.sleep(PROBE_SECONDS)

    async def _is_serving(self) -> bool:
        try:
            probe = Child(self._python("pf_stack.health", self.endpoint.target, patience=1.0), log=subprocess.DEVNULL)
        except OSError:
            # Too many processes, or no memory: that passes, and says nothing about the service.
            return False
        try:
            return await probe.wait() == 0
        finally:
            if probe.is_running:
                await probe.stop()

    def _python(self, module: str, *arguments: str, patience: float) -> Program:
        # -P: the current folder is no place for modules.
        return Program(
            argv=(sys.executable, "-P", "-m", module, *arguments),
            environment=clean_environment(**self.settings()),
            folder=self.folder,
            account=self.account,
            death_signal=signal.SIGTERM,
            stop=((signal.SIGTERM, patience),),
        )
