"""A machine made of namespaces: mounts, network and processes of its own on the same kernel."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from kube import cgroups
from support.repository import ROOT
from support.waiting import wait_until

PATIENCE = 120.0
"""Seconds; whoever measures stops everybody else meanwhile."""


class Machine:
    """What is kept of it while it is off lies in its state folder."""

    def __init__(self, state: Path) -> None:
        self.state = state
        self.cgroup = f"pf-kube-{state.name}"
        self._logs = state / "logs"
        self._logs.mkdir(exist_ok=True)
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._unshare: subprocess.Popen[bytes] | None = None

    def on(self) -> None:
        cgroups.make(self.cgroup)
        try:
            unshare = self._boot()
        except BaseException:
            cgroups.remove(self.cgroup)
            raise
        self._unshare = unshare
        self.first = only_child(unshare.pid)
        """The process that all namespaces belong to, as it is known outside of them."""

    def _boot(self) -> subprocess.Popen[bytes]:
        kinds = ("--mount", "--net", "--pid", "--ipc", "--fork", "--kill-child", "--mount-proc")
        command = ["unshare", *kinds, sys.executable, "-m", "kube.first", str(self.state)]
        surroundings = os.environ | {"PYTHONPATH": str(ROOT / "tests")}
        with (self._logs / "first.log").open("ab") as log:
            process = subprocess.Popen(
                command, env=surroundings, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log
            )
        assert process.stdout is not None
        if process.stdout.readline() != b"ready\n":
            process.wait(PATIENCE)
            raise RuntimeError(f"the machine did not start: {(self._logs / 'first.log').read_text()}")
        return process

    def start(self, name: str, command: Sequence[str]) -> None:
        """Runs a program until it is stopped or the machine is switched off."""
        with (self._logs / f"{name}.log").open("ab") as log:
            self._running[name] = subprocess.Popen(
                [*self._enter(), *command], stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def pid(self, name: str) -> int:
        """Of a program that was started, as it is known outside of the machine."""
        return only_child(self._running[name].pid)

    def runs(self, name: str) -> bool:
        return name in self._running and self._running[name].poll() is None

    def stop(self, name: str, how: signal.Signals = signal.SIGTERM) -> None:
        """Ends a program; it may be started again."""
        if not self.runs(name):
            return
        with suppress(ProcessLookupError):
            os.kill(self.pid(name), how)
        self._running[name].wait(PATIENCE)

    def run(self, command: Sequence[str], told: str = "", patience: float = PATIENCE) -> str:
        """What a program said that has ended well."""
        result = self.attempt(command, told, patience)
        assert result.returncode == 0, f"{list(command)}: {result.stdout}{result.stderr}"
        return result.stdout

    def attempt(
        self, command: Sequence[str], told: str = "", patience: float = PATIENCE
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*self._enter(), *command], input=told, capture_output=True, text=True, timeout=patience)

    def log(self, name: str) -> str:
        path = self._logs / f"{name}.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def off(self) -> None:
        """As if the power failed: processes, mounts and devices are gone, files stay."""
        if self._unshare is None:
            return
        with suppress(ProcessLookupError):
            os.kill(self.first, signal.SIGKILL)
        for process in (self._unshare, *self._running.values()):
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()
            # Whoever is stopped ends by nothing else.
            process.kill()
            process.wait(PATIENCE)
        self._unshare = None
        self._running.clear()
        cgroups.remove(self.cgroup)

    def _enter(self) -> list[str]:
        return ["nsenter", "--target", str(self.first), "--mount", "--net", "--pid", "--ipc", "--"]


def only_child(parent: int) -> int:
    """Of a program whose one purpose is to start another."""
    listing = Path(f"/proc/{parent}/task/{parent}/children")
    wait_until(lambda: bool(listing.read_text().strip()))
    return int(listing.read_text().split()[0])
