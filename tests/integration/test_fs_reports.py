"""What is mounted is told to the filesystem service, and as long as it is it cannot be deleted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from paddleflow.mounted import take_away
from paddleflow.mounting import state_folder
from support import fuse_mounts
from support.command_line import CommandLine
from support.stacks import wait_until

pytestmark = pytest.mark.skipif(bool(fuse_mounts.missing()), reason=fuse_mounts.missing())


def mounts(line: CommandLine) -> list[dict[str, str]]:
    return list(json.loads(line.output("fs mounts data -o json")))


def test_a_mount_is_told_until_it_ends(bucket_line: CommandLine, cache_home: Path) -> None:
    place = cache_home / "at"
    place.mkdir()
    bucket_line.output(f"fs mount data {place}")
    (place / "file").write_text("hello")
    wait_until(lambda: len(mounts(bucket_line)) == 1)
    (told,) = mounts(bucket_line)
    assert told["path"] == str(place)
    refused = bucket_line.run("fs delete data")
    assert refused.exit_code == 1
    assert str(place) in refused.output
    bucket_line.output(f"fs umount {place}")
    wait_until(lambda: not mounts(bucket_line))
    bucket_line.output("fs delete data")


def test_a_mount_that_is_taken_away_by_others_is_gone_too(bucket_line: CommandLine, cache_home: Path) -> None:
    place = cache_home / "at"
    place.mkdir()
    bucket_line.output(f"fs mount data {place}")
    wait_until(lambda: len(mounts(bucket_line)) == 1)
    take_away(place, state_folder(place, {"XDG_CACHE_HOME": str(cache_home)}))
    wait_until(lambda: not mounts(bucket_line))
