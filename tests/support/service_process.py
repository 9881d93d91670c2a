"""A service as a process of its own, for tests that talk to it as others do."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import grpc

from support.zygotes import Forked, Kind, Order, zygote

PATIENCE = 40.0
"""Seconds for a start on a machine that is busy with other things."""


class ServiceProcess:
    """`start` after `stop` or `kill` finds the same data."""

    name: ClassVar[str]
    folder: Path
    settings: Mapping[str, str]
    """What a test has otherwise, under the full names."""
    program: bool = False
    """True: it is begun as users begin it, which takes a second or two; else as a fork of one that has all imported."""
    _process: subprocess.Popen[bytes] | Forked | None = None

    @property
    def told(self) -> Mapping[str, str]:
        """Its own settings, without their prefix."""
        raise NotImplementedError

    @property
    def address(self) -> str:
        return f"unix:{self.folder}/{self.name}.sock"

    @property
    def log_file(self) -> Path:
        return self.folder / f"{self.name}.log"

    @property
    def log(self) -> str:
        return self.log_file.read_text()

    @property
    def environment(self) -> dict[str, str]:
        """Its settings."""
        told = {"SERVER_LISTEN": self.address, **self.told}
        return {f"PF_{self.name.upper()}_{word}": value for word, value in told.items()} | dict(self.settings)

    def start(self) -> None:
        """Starts, and waits until calls are answered."""
        process = self._begun()
        self._process, deadline = process, time.monotonic() + PATIENCE
        with grpc.insecure_channel(self.address) as channel:
            ready = grpc.channel_ready_future(channel)
            while True:
                try:
                    ready.result(0.2)
                    return
                except grpc.FutureTimeoutError:
                    assert process.poll() is None, self.log
                    assert time.monotonic() < deadline, self.log

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def kind(self) -> Kind:
        """What is begun."""
        return Kind(self.name)

    def _begun(self) -> subprocess.Popen[bytes] | Forked:
        environment = os.environ | self.environment
        if not self.program:
            return zygote().begin(Order(self.kind, self.log_file, environment, None))
        with self.log_file.open("ab") as log:
            return subprocess.Popen([sys.executable, "-m", f"pf_{self.name}"], env=environment, stdout=log, stderr=log)

    def stop(self) -> int:
        """Stops gently; gives the exit status."""
        return self._end(signal.SIGTERM)

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def send(self, how: signal.Signals) -> None:
        """Has it stand still, or go on."""
        if self._process is not None:
            self._process.send_signal(how)

    def remove(self) -> None:
        self.kill()
        shutil.rmtree(self.folder)

    def _end(self, how: signal.Signals) -> int:
        if self._process is None:
            return 0
        self._process.send_signal(how)
        status = self._process.wait(20)
        self._process = None
        return status
