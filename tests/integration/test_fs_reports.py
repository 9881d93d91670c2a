"""What is mounted is told to the filesystem service, and as long as it is it cannot be deleted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from paddleflow.mounted import take_away
from paddleflow.mounting import state_folder
from support import fuse_mounts
from support.command_line import CommandLine
from support.fs_site import FsSite
from support.queue_site import PASSWORD
from support.s3_servers import BUCKET, KEYS, S3Server
from support.stacks import wait_until

pytestmark = pytest.mark.skipif(bool(fuse_mounts.missing()), reason=fuse_mounts.missing())


@pytest.fixture
async def line(far_site: FsSite, seaweed_server: S3Server, tmp_path: Path) -> CommandLine:
    """Somebody with a filesystem in a bucket."""
    alice = await far_site.add_user("alice")
    process = far_site.process
    services = {"fs": process.address}
    made = CommandLine.configured(
        tmp_path, process.queue.address, user=alice.name, password=PASSWORD, services=services
    )
    keys = f"-o endpoint=http://127.0.0.1:{seaweed_server.port} -o accessKey={KEYS.access} -o secretKey={KEYS.secret}"
    made.output(f"fs create data s3://{BUCKET}/{far_site.tag} {keys}")
    return made


def mounts(line: CommandLine) -> list[dict[str, str]]:
    return list(json.loads(line.output("fs mounts data -o json")))


def test_a_mount_is_told_until_it_ends(line: CommandLine, cache_home: Path) -> None:
    place = cache_home / "at"
    place.mkdir()
    line.output(f"fs mount data {place}")
    (place / "file").write_text("hello")
    wait_until(lambda: len(mounts(line)) == 1)
    (told,) = mounts(line)
    assert told["path"] == str(place)
    refused = line.run("fs delete data")
    assert refused.exit_code == 1
    assert str(place) in refused.output
    line.output(f"fs umount {place}")
    wait_until(lambda: not mounts(line))
    line.output("fs delete data")


def test_a_mount_that_is_taken_away_by_others_is_gone_too(line: CommandLine, cache_home: Path) -> None:
    place = cache_home / "at"
    place.mkdir()
    line.output(f"fs mount data {place}")
    wait_until(lambda: len(mounts(line)) == 1)
    take_away(place, state_folder(place, {"XDG_CACHE_HOME": str(cache_home)}))
    wait_until(lambda: not mounts(line))
