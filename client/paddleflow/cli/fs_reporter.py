"""Tells the filesystem service of a mount as long as it lasts: a process of its own, begun by `paddleflow fs mount`."""

from __future__ import annotations

import json
import logging
import os
import platform
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paddleflow.config import load_config
from paddleflow.models.mounts import CacheUsage, MountReport
from paddleflow.mount_quota import take_over
from paddleflow.mount_usage import usage_of
from paddleflow.mounted import NotMounted, ask_whoever_serves, is_held
from paddleflow.mounting import limits
from paddleflow.problems import Problem

if TYPE_CHECKING:
    from paddleflow.sync import PaddleFlow

LOG = "reports.log"
_AGAIN = 30.0
"""Seconds until somebody is told again who did not listen."""
_LOOK = 1.0

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Reported:
    """A mount of which is told."""

    name: str
    owner: str
    filesystem_id: str
    etag: str
    place: str
    state: str
    read_only: bool
    config: str = ""
    """The file of the configuration; empty: the usual one."""

    @property
    def mount_id(self) -> str:
        """One place of a machine has one."""
        return Path(self.state).name

    def report(self, usage: Mapping[str, Any]) -> MountReport:
        return MountReport(self.mount_id, platform.node(), self.place, self.read_only, self.etag, CacheUsage(**usage))


def begin(reported: Reported, environ: Mapping[str, str]) -> None:
    """Begins to tell, in the background."""
    program = [sys.executable, "-P", "-m", "paddleflow.cli.fs_reporter", json.dumps(asdict(reported))]
    with (Path(reported.state) / LOG).open("wb") as output:
        nothing = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
        streams = [nothing, *((os.POSIX_SPAWN_DUP2, output.fileno(), each) for each in (1, 2))]
        pid = os.posix_spawn(sys.executable, program, environ, file_actions=streams, setsid=True)
    os.waitpid(pid, 0)


def tell(reported: Reported, paddleflow: PaddleFlow) -> None:
    """Returns when the mount is gone."""
    state, due = Path(reported.state), 0.0
    while is_held(state):
        if time.monotonic() >= due:
            due = time.monotonic() + _told(reported, paddleflow)
        time.sleep(_LOOK)
    with suppress(Problem):
        paddleflow.mounts.end(reported.filesystem_id, reported.mount_id)


def main() -> None:
    """What is to be told stands in the only argument; there is no secret in it."""
    from paddleflow.configured import configured_connection  # noqa: PLC0415 -- loads gRPC, and the command line has this module too
    from paddleflow.sync import PaddleFlow  # noqa: PLC0415 -- so does this

    reported = Reported(**json.loads(sys.argv[1]))
    # Whoever began it needs not wait, and may have stood in a folder that is to go.
    if os.fork():
        os._exit(0)
    os.chdir("/")
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.INFO)
    config = load_config(Path(reported.config) if reported.config else None, os.environ)
    with PaddleFlow(configured_connection(config)) as paddleflow:
        tell(reported, paddleflow)


def _told(reported: Reported, paddleflow: PaddleFlow) -> float:
    """Tells once; seconds until it is due again."""
    try:
        stats = ask_whoever_serves(Path(reported.state), Path(reported.place), "stats")
        receipt = paddleflow.mounts.report(reported.name, reported.report(usage_of(stats)), owner=reported.owner)
        wanted = limits(receipt.quota.bytes, receipt.quota.files)
        if take_over(Path(reported.state), Path(reported.place), stats, wanted):
            log.info("the filesystem has another quota, which the mount holds from now on")
    except NotMounted:
        return _LOOK
    except Problem as problem:
        log.warning("not told: %s", problem.message)
        return _AGAIN
    if receipt.etag != reported.etag:
        log.warning("the filesystem was changed since it was mounted; mount it anew to have all of what it is now")
    return float(receipt.next_seconds)


if __name__ == "__main__":
    main()
