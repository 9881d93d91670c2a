"""The filesystem service as a process of its own, beside a queue service that keeps its users."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from support.fs_program import ALLOWED
from support.queue_process import QueueProcess
from support.servers import short_folder
from support.service_process import ServiceProcess
from support.zygotes import Kind

KEY = bytes(range(32))
"""Seals the secrets of filesystems."""


@dataclass
class FsProcess(ServiceProcess):
    """`pf-fs`."""

    name = "fs"
    queue: QueueProcess
    settings: Mapping[str, str] = field(default_factory=dict)
    folder: Path = field(default_factory=short_folder)
    real: bool = False
    """True: it calls real servers, on this machine."""

    def __post_init__(self) -> None:
        self.roots.mkdir()

    @property
    def kind(self) -> Kind:
        return Kind.FS if self.real else Kind.PLACED_FS

    @property
    def roots(self) -> Path:
        """Holds the folders that are set aside for users."""
        return self.folder / "roots"

    @property
    def told(self) -> Mapping[str, str]:
        return {
            **self.queue.common,
            "QUEUE": self.queue.address,
            "LOCAL_ROOTS": f"{self.roots}/{{user}}",
            "LOCAL_INSTALLATION": str(self.queue.folder),
            "LOCAL_MOUNTED": f"cfs://nfs.example.org/export={self.roots}",
            "SERVERS_ALLOWED": "127.0.0.1" if self.real else ALLOWED,
            "CREDENTIAL_KEYS": b64encode(KEY).decode(),
        }
