"""The job service as a process of its own, beside the services that it needs."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from pf_stack.ports import is_free
from support.fs_process import FsProcess
from support.fuse_mounts import detach_below
from support.queue_process import QueueProcess
from support.servers import short_folder
from support.service_process import PATIENCE, ServiceProcess

PORTS = range(12_000, 19_000)
"""Below those that replicas have, and those that the kernel gives out."""


@dataclass
class JobProcess(ServiceProcess):
    """`pf-job`; `start` after `stop` or `kill` also finds the replicas that ran on."""

    name = "job"
    queue: QueueProcess
    fs: FsProcess
    settings: Mapping[str, str] = field(default_factory=dict)
    folder: Path = field(default_factory=short_folder)
    port: int = field(default_factory=lambda: next(filter(is_free, random.sample(PORTS, len(PORTS)))))
    """Where replicas reach it: the same after each start."""

    @property
    def _replicas(self) -> str:
        return str(self.folder / "replicas")

    @property
    def told(self) -> Mapping[str, str]:
        return {
            **self.queue.common,
            "SERVER_LISTEN": f"{self.address},127.0.0.1:{self.port}",
            "QUEUE": self.queue.address,
            "FS": self.fs.address,
            "LOCAL_FOLDER": self._replicas,
        }

    def remove(self) -> None:
        self.kill()
        self._end_runner()
        detach_below(self.folder)
        super().remove()

    def _end_runner(self) -> None:
        """The runner outlives whoever started it, so that replicas do; with it everything ends."""
        for process in psutil.process_iter(["cmdline"]):
            if self._replicas in (process.info["cmdline"] or []):
                process.terminate()
                process.wait(PATIENCE)
