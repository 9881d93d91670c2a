"""Writing down what there is in a filesystem, for mounts that are not to ask."""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from paddleflow.mounting import MountOptions, run_errand, source_of
from paddleflow.problems import Unavailable

if TYPE_CHECKING:
    from paddleflow.sync import PaddleFlow
    from paddleflow.transfers.places import Remote

INSIDE = ":"
"""How a place begins that is in the filesystem itself."""


@dataclass(frozen=True, slots=True)
class Taken:
    """How much there is, or was found so far."""

    files: int = 0
    folders: int = 0
    bytes: int = 0


def take(client: PaddleFlow, source: Remote, to: str, at_once: int) -> Generator[Taken, None, None]:
    """How far it is, again and again, and at last how it ended. To close it ends it."""
    described = client.filesystems.describe_mount(
        source.name, owner=source.owner, sub_path=source.path, read_only=not to.startswith(INSIDE)
    )
    told = {"source": source_of(described, MountOptions(), os.environ), "to": to, "atOnce": at_once}
    over = False
    with closing(run_errand("snapshot", told)) as reports:
        for report in reports:
            over = report["over"]
            yield _taken(report)
    if not over:
        raise Unavailable("whoever looked at the files has ended; there is no snapshot")


def _taken(report: Mapping[str, Any]) -> Taken:
    return Taken(report["files"], report["folders"], report["bytes"])
