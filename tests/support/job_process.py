"""The job service as a process of its own, beside the services that it needs."""

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
import psutil

from support.fs_process import FsProcess
from support.queue_process import PATIENCE, QueueProcess
from support.servers import short_folder


@dataclass
class JobProcess:
    """`pf-job`; `start` after `stop` or `kill` finds the same data, and the replicas that ran on."""

    queue: QueueProcess
    fs: FsProcess
    settings: Mapping[str, str] = field(default_factory=dict)
    folder: Path = field(default_factory=short_folder)

    def __post_init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"unix:{self.folder}/job.sock"

    @property
    def log(self) -> str:
        return (self.folder / "job.log").read_text()

    @property
    def environment(self) -> dict[str, str]:
        """Its settings."""
        return {
            "PF_JOB_DATABASE_DSN": self.queue.dsn,
            "PF_JOB_REDIS": self.queue.redis,
            "PF_JOB_SERVER_LISTEN": self.address,
            "PF_JOB_SIGNING_KEY_FILE": str(self.queue.folder / "signing.pem"),
            "PF_JOB_QUEUE": self.queue.address,
            "PF_JOB_FS": self.fs.address,
            "PF_JOB_LOCAL_FOLDER": str(self.folder / "replicas"),
            **self.settings,
        }

    def start(self) -> None:
        """Starts, and waits until calls are answered."""
        with (self.folder / "job.log").open("ab") as log:
            command = [sys.executable, "-m", "pf_job"]
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
        return self._end(signal.SIGTERM)

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def remove(self) -> None:
        self.kill()
        self._end_runner()
        shutil.rmtree(self.folder)

    def _end_runner(self) -> None:
        """The runner outlives whoever started it, so that replicas do; with it everything ends."""
        for process in psutil.process_iter(["cmdline"]):
            if str(self.folder / "replicas") in (process.info["cmdline"] or []):
                process.terminate()
                process.wait(PATIENCE)

    def _end(self, how: signal.Signals) -> int:
        if self._process is None:
            return 0
        self._process.send_signal(how)
        status = self._process.wait(20)
        self._process = None
        return status
