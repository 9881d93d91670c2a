"""Bringing files into the cache of this machine before they are read, by a mount or without one."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paddleflow.mount_places import real_place
from paddleflow.mounted import NotMounted, follow, mount_of
from paddleflow.mounting import MountOptions, make_folders, run_errand, source_of
from paddleflow.problems import Unavailable
from paddleflow.transfers.places import Remote, remote_of

if TYPE_CHECKING:
    from paddleflow.sync import PaddleFlow

Report = Mapping[str, Any]
Reports = Generator[Report, None, None]


@dataclass(frozen=True, slots=True)
class Through:
    """A mount, or a filesystem that is reached without one."""

    mount: Path | None
    name: str = ""
    """Of the filesystem."""
    owner: str = ""

    def __str__(self) -> str:
        return str(self.mount or (f"{self.owner}/{self.name}" if self.owner else self.name))


@dataclass(frozen=True, slots=True)
class Warmth:
    """How it ended, or how far it is."""

    files: int = 0
    bytes: int = 0
    files_done: int = 0
    bytes_done: int = 0
    files_kept: int = 0
    """That were there before."""
    bytes_fetched: int = 0
    failed: int = 0
    listed: bool = True
    """All files that there are were found."""
    failures: Sequence[tuple[str, str]] = field(default_factory=tuple)
    """Paths, and why."""

    def __add__(self, other: Warmth) -> Warmth:
        return Warmth(
            self.files + other.files,
            self.bytes + other.bytes,
            self.files_done + other.files_done,
            self.bytes_done + other.bytes_done,
            self.files_kept + other.files_kept,
            self.bytes_fetched + other.bytes_fetched,
            self.failed + other.failed,
            self.listed and other.listed,
            [*self.failures, *other.failures],
        )


def planned(sources: Iterable[str], environ: Mapping[str, str]) -> Mapping[Through, Sequence[str]]:
    """What is to be brought by whom: paths below mounts of the user's, and ``[OWNER/]FSNAME[:PATH]``."""
    plan: dict[Through, list[str]] = {}
    for source in sources:
        real = real_place(Path(source))
        place = mount_of(real, environ)
        if place:
            path = real.relative_to(place).as_posix()
            plan.setdefault(Through(place), []).append("" if path == "." else path)
        else:
            remote = _remote(source)
            plan.setdefault(Through(None, remote.name, remote.owner), []).append(remote.path)
    return plan


def by_mount(place: Path, environ: Mapping[str, str], paths: Sequence[str], at_once: int) -> Reports:
    """Reports of whoever serves a mount."""
    return follow(place, environ, "warm", paths=paths, at_once=at_once)


def by_itself(
    client: PaddleFlow, through: Through, paths: Sequence[str], options: MountOptions, at_once: int
) -> Reports:
    """Reports of a process that brings files into the cache that mounts will use."""
    described = client.filesystems.describe_mount(through.name, owner=through.owner, read_only=True)
    source = source_of(described, options, os.environ)
    make_folders(source)
    return run_errand("warm", {"source": source, "paths": paths, "atOnce": at_once})


def followed(reports: Reports) -> Generator[Warmth, None, None]:
    """How far it is, again and again, and at last how it ended. To close it ends it."""
    over = False
    with closing(reports):
        for report in reports:
            over = report["over"]
            yield _warmth(report)
    if not over:
        raise Unavailable("whoever fetched the files has ended; what has come is kept, and the same command goes on")


def _warmth(report: Report) -> Warmth:
    counts = {name: value for name, value in report.items() if name not in ("over", "failures")}
    return Warmth(**counts, failures=[(each["path"], each["why"]) for each in report.get("failures", ())])


def _remote(source: str) -> Remote:
    found = remote_of(source) or remote_of(f"{source}:")
    if found is None:
        raise NotMounted(f"no filesystem of yours is mounted at {source} or above it; or name one as in data:folder")
    return found
