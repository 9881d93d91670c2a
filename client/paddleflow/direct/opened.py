"""The files of filesystems that a program has opened, in each process anew.

A process that was forked has the memory of the one before, and none of its threads: it opens them again, by what the
one before was told of them, without asking the service.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from paddleflow.config import load_config
from paddleflow.direct.describing import Asks, asked, renewal
from paddleflow.direct.ports import Files, find_opening
from paddleflow.mounting import make_folders
from paddleflow.quantity import MEMORY, parse_amount

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Access:
    """How somebody wants to use filesystems."""

    config: str = ""
    """The path of a configuration; empty: the one that `paddleflow` uses."""
    read_only: bool = False
    dataset: bool = False
    """Nobody changes what lies there as long as the program runs."""
    lasts: float = 1.0
    """Seconds for which names and attributes are taken for true."""
    cache_folders: tuple[str, ...] = ()
    cache_size: str = ""
    memory: int = 64 * MIB
    """Bytes that are fetched and not yet read, of one filesystem in one process."""


@dataclass(slots=True)
class _Process:
    """What one process has open."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    files: dict[str, Files] = field(default_factory=dict)


class Filesystems:
    """Files by the names of their filesystems: ``NAME`` or ``OWNER@NAME``."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._sources: dict[str, Mapping[str, Any]] = {}
        self._known: dict[str, object] = {}
        self._processes: dict[int, _Process] = {}

    def files(self, name: str) -> Files:
        """Those of a filesystem. Raises problems as the service does."""
        process = self._processes.get(os.getpid()) or self._processes.setdefault(os.getpid(), _Process())
        found = process.files.get(name)
        if found:
            return found
        with process.lock:
            if name not in process.files:
                process.files[name] = self._opened(name)
            return process.files[name]

    def names(self) -> list[str]:
        """Of the filesystems that the user may use; of those of others with the owner."""
        user = load_config(Path(self._access.config) if self._access.config else None, os.environ).user
        found = asked({"config": self._access.config})
        return sorted(name if owner == user else f"{owner}@{name}" for owner, name in found)

    def forget(self) -> None:
        """What is known of files is asked for anew."""
        for known in [files.known for files in self._mine()]:
            known.forget()

    def close(self) -> None:
        for files in self._mine():
            files.end()
        self._processes.pop(os.getpid(), None)

    def _mine(self) -> list[Files]:
        process = self._processes.get(os.getpid())
        return list(process.files.values()) if process else []

    def _opened(self, name: str) -> Files:
        opening = find_opening()
        source = self._sources.get(name)
        if source is None:
            source = self._sources[name] = self._described(name)
            make_folders(source)
        lasts = math.inf if self._access.dataset else self._access.lasts
        opened = opening(
            source,
            memory=self._access.memory,
            lasts=lasts,
            known=self._known.get(name),
            renewal=renewal(self._asks(name)),
        )
        self._known[name] = opened.known
        return opened

    def _described(self, name: str) -> Mapping[str, Any]:
        described: Mapping[str, Any] = asked(asdict(self._asks(name)))
        return described

    def _asks(self, name: str) -> Asks:
        owner, _, short = name.rpartition("@")
        access = self._access
        return Asks(
            access.config,
            short,
            owner,
            read_only=access.read_only or access.dataset,
            cache_folders=[str(Path(folder).absolute()) for folder in access.cache_folders],
            cache_size=parse_amount(MEMORY, access.cache_size) if access.cache_size else None,
        )
