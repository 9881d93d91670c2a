"""The filesystem service as a process of its own, beside a queue service that keeps its users."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import grpc

from support.queue_process import PATIENCE, QueueProcess
from support.servers import short_folder


@dataclass
class FsProcess:
    """`pf-fs`; `start` after `stop` finds the same data."""

    queue: QueueProcess
    settings: Mapping[str, str] = field(default_factory=dict)
    folder: Path = field(default_factory=short_folder)

    def __post_init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self.roots.mkdir()

    @property
    def address(self) -> str:
        return f"unix:{self.folder}/fs.sock"

    @property
    def roots(self) -> Path:
        """Holds the folders that are set aside for users."""
        return self.folder / "roots"

    @property
    def log(self) -> str:
        return (self.folder / "fs.log").read_text()

    @property
    def environment(self) -> dict[str, str]:
        """Its settings."""
        return {
            "PF_FS_DATABASE_DSN": self.queue.dsn,
            "PF_FS_REDIS": self.queue.redis,
            "PF_FS_SERVER_LISTEN": self.address,
            "PF_FS_SIGNING_KEY_FILE": str(self.queue.folder / "signing.pem"),
            "PF_FS_QUEUE": self.queue.address,
            "PF_FS_LOCAL_ROOTS": f"{self.roots}/{{user}}",
            "PF_FS_LOCAL_INSTALLATION": str(self.queue.folder),
            **self.settings,
        }

    def start(self) -> None:
        """Starts, and waits until calls are answered."""
        with (self.folder / "fs.log").open("ab") as log:
            command = [sys.executable, "-m", "pf_fs"]
            self._process = subprocess.Popen(command, env=os.environ | self.environment, stdout=log, stderr=log)
        deadline = time.monotonic() + PATIENCE
        with grpc.insecure_channel(self.address) as channel:
            ready = grpc.channel_ready_future(channel)
            while True:
                try:
                    ready.result(0.2)
                    return
                except grpc.FutureTimeoutError:
                    assert self._process.poll() is None, self.log
                    assert time.monotonic() < deadline, self.log

    def stop(self) -> int:
        """Stops gently; gives the exit status."""
        if self._process is None:
            return 0
        self._process.send_signal(signal.SIGTERM)
        status = self._process.wait(20)
        self._process = None
        return status

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.folder)
