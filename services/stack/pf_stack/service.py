"""A PaddleFlow service as a part of the stack."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pf_kit.embedded.accounts import Account
from pf_kit.embedded.child import Child, Program, clean_environment
from pf_stack.endpoints import Endpoint


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
        return 60.0

    async def prepare(self) -> None:
        """Nothing: a service makes its own schema when it starts."""

    def program(self) -> Program:
        return self._python(self.module, patience=15.0)

    async def wait_ready(self, _child: Child) -> None:
        while True:
            probe = Child(self._python("pf_stack.health", self.endpoint.target, patience=1.0), log=subprocess.DEVNULL)
            try:
                if await probe.wait() == 0:
                    return
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
