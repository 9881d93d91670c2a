"""Tells the filesystem service what is mounted here, and how its cache is doing."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

from paddleflow.mount_quota import take_over
from paddleflow.mount_usage import usage_of
from paddleflow.mounted import NotMounted, Unanswered, ask_whoever_serves
from paddleflow.problems import NotFound, Problem
from pf_job.runtimes.local.remote.domain import About
from pf_job.runtimes.local.remote.folder import MountFolder
from pf_job.runtimes.port import Remote

logger = logging.getLogger(__name__)

REPORT_SECONDS = 30.0
"""After three times that a mount counts as gone."""


@dataclass(frozen=True, slots=True)
class Report:
    """A mount, as it is told."""

    about: About
    mount_id: str
    node: str
    path: str
    stats: Mapping[str, Any]
    """What whoever serves it tells."""

    @property
    def usage(self) -> Mapping[str, Any]:
        return usage_of(self.stats)


class Reports(Protocol):
    """Who wants to know what is mounted. All raise Problem if they do not hear it."""

    async def report(self, report: Report) -> Mapping[str, int | None]:
        """It is mounted; the bytes and files that may lie there now, where None is any amount."""

    async def end(self, about: About, mount_id: str) -> None:
        """It is not mounted any more."""

    async def now(self, about: About) -> Remote:
        """What opens it by now."""


def look(folder: MountFolder, node: str) -> Report | None:
    """How a mount is doing; None if there is none, or nobody says so now. Blocks."""
    about = folder.about()
    if about is None or not folder.is_held():
        return None
    try:
        stats = ask_whoever_serves(folder.state, folder.place, "stats")
    except (NotMounted, Unanswered):
        return None
    return Report(about, folder.name, node, str(folder.place), stats)


async def tell(reports: Reports, report: Report) -> Mapping[str, int | None] | None:
    """What is answered. Who does not hear it now is told again anyway."""
    try:
        return await reports.report(report)
    except NotFound:
        logger.warning("what is mounted is no filesystem any more", extra={"filesystem": report.about.filesystem})
    except Problem as problem:
        logger.warning("nobody hears of a mount", extra={"path": report.path, "why": problem.message})
    return None


def limit(folder: MountFolder, report: Report, limits: Mapping[str, int | None]) -> None:
    """The mount holds these limits from now on; who does not hear it is told after the next report again. Blocks."""
    with suppress(NotMounted, Unanswered):
        take_over(folder.state, folder.place, report.stats, limits)
